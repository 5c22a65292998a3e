import type { Limits } from "#contract"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { probeIdleMs } from "./activity-probe.ts"
import type { ActivityTracker } from "./activity-tracker.ts"
import { lowestOf } from "./effective-limits.ts"
import { EndWarnings, warningLeadMs } from "./end-warnings.ts"
import type { UsageMonitor } from "./usage-monitor.ts"

const minuteMs = 60_000
/** Probes at once. */
const probesAtOnce = 100
/** The program reports times of the system's clock, which may differ that much from this one. */
const clockToleranceMs = 5_000
/** An end that is computed anew differs by this much at most, unless something changed. */
const storedEndToleranceMs = 1_000

/** A run that an idle rule would end. */
export interface IdleRun {
  run: RunRow
  idleMs: number
}

/**
 * Finds runs that nobody uses and that do not compute. A run counts as used while that is unknown:
 * without figures, or without an answer of its program.
 */
export class IdleRule {
  readonly #ctx: RunsContext
  readonly #usage: UsageMonitor
  readonly #activity: ActivityTracker
  readonly #warnings: EndWarnings

  constructor(ctx: RunsContext, parts: { usage: UsageMonitor; activity: ActivityTracker }) {
    this.#ctx = ctx
    this.#usage = parts.usage
    this.#activity = parts.activity
    this.#warnings = new EndWarnings(ctx)
  }

  /** Whether the run is to end now; sends a warning first. */
  async isDue(run: RunRow, limits: Limits | undefined): Promise<boolean> {
    const isDue = await this.#decide(run, limits)
    if (!isDue) await this.#storeEnd(run.id)
    return isDue
  }

  async #decide(run: RunRow, limits: Limits | undefined): Promise<boolean> {
    // Idle time is counted from here on, also for a dry run.
    if (run.state === "ready") this.#activity.idleSinceOf(run.id)
    const minutes = this.limitOf(run, limits)
    if (minutes === null) return false
    const limitMs = minutes * minuteMs
    const leadMs = warningLeadMs(limitMs)
    const idleMs = await this.#idleMs(run, limitMs - leadMs - this.#ctx.settings.sampleEveryMs)
    if (idleMs === undefined) return false
    return this.#warnings.warnUntilDue({
      run,
      cause: this.#activity.idleSinceOf(run.id),
      leftMs: limitMs - idleMs,
      leadMs,
      text: (endsAt) => `Nobody uses the run, and it does not compute: it is stopped at ${endsAt} unless that changes or somebody keeps it`,
    })
  }

  /** The lowest limit of the project and the run's person; null without any. */
  limitOf(run: RunRow, limits: Limits | undefined): number | null {
    const minutes = lowestOf([run.spec.idleMinutes, limits?.IdleMinutes])
    return minutes === null ? null : Math.max(1, minutes)
  }

  /** The runs that a rule of so many minutes would end now, newest first. */
  async findIdle(minutes: number): Promise<IdleRun[]> {
    const found: IdleRun[] = []
    const rows = this.#ctx.runCache.rows().reverse()
    for (let i = 0; i < rows.length; i += probesAtOnce) {
      const some = rows.slice(i, i + probesAtOnce)
      const idleTimes = await Promise.all(some.map((run) => this.#idleMs(run, minutes * minuteMs)))
      for (const [n, run] of some.entries()) {
        const idleMs = idleTimes[n]
        if (idleMs !== undefined) found.push({ run, idleMs })
      }
    }
    return found
  }

  /** When the run ends, if a warning announced that and nobody used it since. */
  endOf(id: number): number | undefined {
    return this.#warnings.endOf(id, this.#activity.idleSinceOf(id))
  }

  /** Other processes read the announced end from the row. */
  async #storeEnd(id: number): Promise<void> {
    const { runCache, change } = this.#ctx
    const run = runCache.row(id)
    const idleEndsAt = this.endOf(id) ?? null
    if (run?.state !== "ready" || Math.abs((run.idleEndsAt ?? 0) - (idleEndsAt ?? 0)) < storedEndToleranceMs) return
    await change(async (tx) => {
      const changed = await tx.runs.transition(run, ["ready"], { idleEndsAt })
      if (changed) tx.afterCommit(() => runCache.publish(changed))
    })
  }

  retainOnly(isLive: (id: number) => boolean): void {
    this.#warnings.retainOnly(isLive)
  }

  /**
   * How long the run has been idle; undefined if less than `minMs`, or unknown. The program is
   * asked only if the rest does not decide.
   */
  async #idleMs(run: RunRow, minMs: number): Promise<number | undefined> {
    const read = () => this.#ctx.clock.monotonic() - this.#activity.idleSinceOf(run.id)
    if (run.state !== "ready" || read() < minMs || !this.#usage.isUseKnown(run)) return undefined
    const idleMs = await probeIdleMs(this.#ctx, run)
    if (idleMs === undefined) return undefined
    if (idleMs < read() - clockToleranceMs) this.#activity.mark(run.id, idleMs)
    return read() < minMs ? undefined : read()
  }
}
