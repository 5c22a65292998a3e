import { bounds } from "#contract"
import type { RunsContext } from "../context.ts"

/** Measuring takes at most one part in so many of the time. */
const calmFraction = 20

/**
 * Growth of the deleted files that runs have open, on the disk of people's files. No count of
 * directories finds them.
 */
export class DeletedGrowth {
  readonly #ctx: Pick<RunsContext, "clock" | "closed" | "engine" | "logger">
  #before: ReadonlyMap<string, number> = new Map()
  #now: ReadonlyMap<string, number> = new Map()
  #dueAt = Number.NEGATIVE_INFINITY
  #measuring: Promise<void> | undefined

  constructor(ctx: Pick<RunsContext, "clock" | "closed" | "engine" | "logger">) {
    this.#ctx = ctx
  }

  /**
   * Counts only growth after about the last minute: nobody is ended for what was there before.
   * Resolves with whether it measured. Never rejects.
   */
  async renewBaseline(): Promise<boolean> {
    if (this.#ctx.clock.now() < this.#dueAt || this.#measuring) return false
    await this.#measure()
    this.resetBaseline()
    return true
  }

  /** At the last measurement; `Infinity` as in `measureGrowth`. */
  bytesOf(key: string): number {
    return this.#now.get(key) ?? 0
  }

  /** Counts only growth after the last measurement. */
  resetBaseline(): void {
    this.#before = this.#now
  }

  /** Bytes by the run's key; `Infinity` if a run has open files that cannot be examined. */
  async measureGrowth(): Promise<(key: string) => number> {
    await this.#measure()
    return (key) => {
      const now = this.#now.get(key) ?? 0
      return Number.isFinite(now) ? Math.max(0, now - (this.#before.get(key) ?? 0)) : now
    }
  }

  /** Never rejects. */
  #measure(): Promise<void> {
    this.#measuring ??= this.#measureNow().finally(() => {
      this.#measuring = undefined
    })
    return this.#measuring
  }

  async #measureNow(): Promise<void> {
    const { clock, closed, engine, logger } = this.#ctx
    const began = clock.now()
    try {
      this.#now = await engine.deletedFiles(closed)
    } catch (err) {
      if (!closed.aborted) logger.warn({ err }, "looking for deleted files that runs have open failed")
    }
    this.#dueAt = clock.now() + Math.max(bounds.storage.countEveryMs.value, calmFraction * (clock.now() - began))
  }
}
