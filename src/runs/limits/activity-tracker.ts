import type { RunsContext } from "../context.ts"

/** The last activity of runs: in memory at once, written rarely. */
export class ActivityTracker {
  readonly #ctx: RunsContext
  readonly #unwritten = new Map<number, number>()
  readonly #last = new Map<number, number>()
  /** The last activity by the monotonic clock; without any, when it was first asked for. */
  readonly #idleSince = new Map<number, number>()

  constructor(ctx: RunsContext) {
    this.#ctx = ctx
  }

  /** `agoMs`: how long ago the run was active. */
  mark(id: number, agoMs = 0): void {
    const { runCache, clock } = this.#ctx
    if (runCache.row(id)?.state !== "ready") return
    const time = clock.now() - agoMs
    this.#unwritten.set(id, time)
    this.#last.set(id, time)
    this.#idleSince.set(id, Math.max(clock.monotonic() - agoMs, this.#idleSince.get(id) ?? Number.NEGATIVE_INFINITY))
  }

  /**
   * The last activity, or the moment when this process began to watch the run, by the monotonic
   * clock. Neither a restart of Quayside nor a jump of the system's time makes a run idle.
   */
  idleSinceOf(id: number): number {
    const since = this.#idleSince.get(id) ?? this.#ctx.clock.monotonic()
    this.#idleSince.set(id, since)
    return since
  }

  /** Milliseconds since the epoch; undefined without activity in this process. */
  lastActivityOf(id: number): number | undefined {
    return this.#last.get(id)
  }

  /** Writes activity periodically until Quayside closes, and once more then. */
  async run(): Promise<void> {
    const { clock, closed, settings, logger } = this.#ctx
    while (!closed.aborted) {
      await clock.sleep(settings.activityEveryMs, closed).catch(() => {})
      await this.#write().catch((error) => logger.warn({ err: error }, "activity was not written"))
    }
  }

  async #write(): Promise<void> {
    for (const kept of [this.#last, this.#idleSince]) for (const id of kept.keys()) if (!this.#ctx.runCache.row(id)) kept.delete(id)
    if (this.#unwritten.size === 0) return
    const marks = [...this.#unwritten]
    this.#unwritten.clear()
    await this.#ctx.store.change(async (tx) => {
      for (const [id, lastActivity] of marks) {
        const run = await tx.runs.transition(id, ["ready"], { lastActivity })
        if (run) tx.afterCommit(() => this.#ctx.runCache.publish(run))
      }
    })
  }
}
