import type { Progress } from "#contract"
import type { RunRow } from "#store"
import type { Context } from "./context.ts"

const progressMs = 500
const progressStoreMs = 10_000

/** Keeps the progress in memory, tells it now and then, and writes it rarely. */
export class ProgressTeller {
  readonly #ctx: Context
  readonly #run: RunRow
  progress: Progress | null = null
  #told = 0
  #stored: number

  constructor(ctx: Context, run: RunRow) {
    this.#ctx = ctx
    this.#run = run
    this.#stored = ctx.clock.now()
  }

  /** Whether it is another progress than the last. */
  tell(progress: Progress | null): boolean {
    const last = this.progress
    this.progress = progress
    if (!progress || (last?.step === progress.step && last.current === progress.current && last.total === progress.total)) return false
    const now = this.#ctx.clock.now()
    if (now - this.#told >= progressMs || progress.current === progress.total) {
      this.#told = now
      this.#ctx.events.progress(this.#run, progress)
    }
    if (now - this.#stored >= progressStoreMs) this.#store(progress, now)
    return true
  }

  #store(progress: Progress, now: number): void {
    this.#stored = now
    const { store, logger } = this.#ctx
    const written = store.change((tx) => tx.runs.move(this.#run.id, ["pulling", "creating"], { progress }))
    written.catch((error) => logger.warn({ err: error, run: this.#run.id }, "progress was not written"))
  }
}
