import type { RunsContext } from "../context.ts"

/** The last activity of runs: in memory at once, written rarely. */
export class ActivityTracker {
  readonly #ctx: RunsContext
  readonly #unwritten = new Map<number, number>()
  readonly #last = new Map<number, number>()

  constructor(ctx: RunsContext) {
    this.#ctx = ctx
  }

  mark(id: number): void {
    if (this.#ctx.runCache.row(id)?.state !== "ready") return
    const now = this.#ctx.clock.now()
    this.#unwritten.set(id, now)
    this.#last.set(id, now)
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
    for (const id of this.#last.keys()) if (!this.#ctx.runCache.row(id)) this.#last.delete(id)
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
