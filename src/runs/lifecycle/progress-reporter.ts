import type { Progress } from "#contract"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"

const reportEveryMs = 500
const storeEveryMs = 10_000

/** Holds the progress in memory, publishes it at intervals, and writes it rarely. */
export class ProgressReporter {
  readonly #ctx: RunsContext
  readonly #run: RunRow
  progress: Progress | null = null
  #reportedAt = 0
  #storedAt: number

  constructor(ctx: RunsContext, run: RunRow) {
    this.#ctx = ctx
    this.#run = run
    this.#storedAt = ctx.clock.now()
  }

  /** Returns whether the progress changed. */
  report(progress: Progress | null): boolean {
    const last = this.progress
    this.progress = progress
    if (!progress || (last?.step === progress.step && last.current === progress.current && last.total === progress.total)) return false
    const now = this.#ctx.clock.now()
    if (now - this.#reportedAt >= reportEveryMs || progress.current === progress.total) {
      this.#reportedAt = now
      this.#ctx.events.progress(this.#run, progress)
    }
    if (now - this.#storedAt >= storeEveryMs) this.#store(progress, now)
    return true
  }

  #store(progress: Progress, now: number): void {
    this.#storedAt = now
    const { change, logger } = this.#ctx
    const written = change((tx) => tx.runs.transition(this.#run.id, ["pulling", "creating", "starting"], { progress }))
    written.catch((error) => logger.warn({ err: error, run: this.#run.id }, "progress was not written"))
  }
}
