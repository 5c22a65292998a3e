import type { Clock } from "#kit"

/** Reports use of a run, at most once a second for each run. */
export class ActivityReporter {
  readonly #clock: Clock
  readonly #active: (runId: number) => void
  #told = new Map<number, number>()

  constructor(options: { clock: Clock; recordActivity: (runId: number) => void }) {
    this.#clock = options.clock
    this.#active = options.recordActivity
  }

  report(runId: number): void {
    const now = this.#clock.now()
    const told = this.#told.get(runId)
    if (told !== undefined && now >= told && now - told < 1_000) return
    this.#told.set(runId, now)
    this.#active(runId)
  }

  /** Drops runs that have ended. */
  retainOnly(isLive: (runId: number) => boolean): void {
    for (const runId of this.#told.keys()) if (!isLive(runId)) this.#told.delete(runId)
  }
}
