import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { WakeSignal } from "../wake-signal.ts"

/** Changes that come close together are written together. */
const gapMs = 500
/** Rows that are written in one transaction: everybody's changes wait. */
const runsPerChange = 20

/**
 * The last activity of runs: in memory at once, written rarely, but at once after a quiet time.
 * The activity that other processes write counts as well.
 */
export class ActivityTracker {
  readonly #ctx: RunsContext
  readonly #unwritten = new Map<number, number>()
  /** When this process last wrote the activity of a run, by the monotonic clock. */
  readonly #writtenAt = new Map<number, number>()
  readonly #signal = new WakeSignal()
  readonly #last = new Map<number, number>()
  /** The last activity by the monotonic clock; without any, when it was first asked for. */
  readonly #idleSince = new Map<number, number>()

  constructor(ctx: RunsContext) {
    this.#ctx = ctx
  }

  /** `agoMs`: how long ago the run was active. */
  mark(id: number, agoMs = 0): void {
    const { runCache, clock, settings } = this.#ctx
    if (runCache.row(id)?.state !== "ready") return
    const time = clock.now() - agoMs
    this.#unwritten.set(id, time)
    this.#last.set(id, time)
    this.#idleSince.set(id, Math.max(clock.monotonic() - agoMs, this.#idleSince.get(id) ?? Number.NEGATIVE_INFINITY))
    if (clock.monotonic() - (this.#writtenAt.get(id) ?? Number.NEGATIVE_INFINITY) >= settings.activityEveryMs) this.#signal.notify()
  }

  /** Takes over what another process wrote since this one watches the run. */
  #follow({ id, lastActivity }: RunRow): void {
    const since = this.#idleSince.get(id)
    if (lastActivity === null || since === undefined || lastActivity <= (this.#last.get(id) ?? 0)) return
    const { clock } = this.#ctx
    this.#last.set(id, lastActivity)
    this.#idleSince.set(id, Math.max(since, clock.monotonic() - Math.max(0, clock.now() - lastActivity)))
  }

  /**
   * The last activity, or the moment when this process began to watch the run, by the monotonic
   * clock. Neither a restart of Quayside nor a jump of the system's time makes a run idle.
   */
  idleSinceOf(id: number): number {
    return this.#idleSince.get(id) ?? this.#beginToWatch(id)
  }

  #beginToWatch(id: number): number {
    const { clock, runCache } = this.#ctx
    const since = clock.monotonic()
    this.#idleSince.set(id, since)
    const lastActivity = runCache.row(id)?.lastActivity
    if (lastActivity) this.#last.set(id, lastActivity)
    return since
  }

  /** Milliseconds since the epoch; undefined if this process does not watch the run. */
  lastActivityOf(id: number): number | undefined {
    return this.#last.get(id)
  }

  /** Writes activity periodically until Quayside closes, and once more then. */
  async run(): Promise<void> {
    const { clock, closed, settings, logger, runCache } = this.#ctx
    using _ = runCache.onChange((run) => this.#follow(run))
    while (!closed.aborted) {
      await this.#signal.wait(clock, closed, settings.activityEveryMs)
      await this.#write().catch((error) => logger.warn({ err: error }, "activity was not written"))
      await clock.sleep(Math.min(gapMs, settings.activityEveryMs), closed).catch(() => {})
    }
    await this.#write().catch((error) => logger.warn({ err: error }, "activity was not written"))
  }

  async #write(): Promise<void> {
    for (const kept of [this.#last, this.#idleSince, this.#writtenAt])
      for (const id of kept.keys()) if (!this.#ctx.runCache.row(id)) kept.delete(id)
    if (this.#unwritten.size === 0) return
    const marks = [...this.#unwritten]
    this.#unwritten.clear()
    for (const [id] of marks) this.#writtenAt.set(id, this.#ctx.clock.monotonic())
    for (let from = 0; from < marks.length; from += runsPerChange) await this.#writeMarks(marks.slice(from, from + runsPerChange))
  }

  async #writeMarks(marks: readonly (readonly [id: number, lastActivity: number])[]): Promise<void> {
    await this.#ctx.change(async (tx) => {
      for (const [id, lastActivity] of marks) {
        const run = await tx.runs.transition(this.#ctx.runCache.row(id) ?? id, ["ready"], { lastActivity, idleEndsAt: null })
        if (run) tx.afterCommit(() => this.#ctx.runCache.publish(run))
      }
    })
  }
}
