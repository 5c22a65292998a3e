import type { Clock } from "#kit"

/** Reports use of a run, at most once a second for each run. */
export class ActivityReporter {
  readonly #clock: Clock
  readonly #recordActivity: (runId: number) => void
  #reportedAt = new Map<number, number>()

  constructor(options: { clock: Clock; recordActivity: (runId: number) => void }) {
    this.#clock = options.clock
    this.#recordActivity = options.recordActivity
  }

  report(runId: number): void {
    const now = this.#clock.now()
    const reportedAt = this.#reportedAt.get(runId)
    if (reportedAt !== undefined && now >= reportedAt && now - reportedAt < 1_000) return
    this.#reportedAt.set(runId, now)
    this.#recordActivity(runId)
  }

  /** Drops runs that have ended. */
  retainOnly(isLive: (runId: number) => boolean): void {
    for (const runId of this.#reportedAt.keys()) if (!isLive(runId)) this.#reportedAt.delete(runId)
  }
}
