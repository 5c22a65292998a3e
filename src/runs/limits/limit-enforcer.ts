import { bounds, type Limits } from "#contract"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { stopWithReason } from "../lifecycle/ending.ts"
import { createReason } from "../lifecycle/reasons.ts"
import { isComputing } from "./activity-probe.ts"
import type { ActivityTracker } from "./activity-tracker.ts"
import { type LoadedLimits, loadLimits } from "./effective-limits.ts"
import type { UsageMonitor } from "./usage-monitor.ts"

const minuteMs = 60_000
const mib = 2 ** 20
/** The longest time between warning and end; half of the idle time if that is less. */
const maxWarningLeadMs = 5 * minuteMs
/** The part of a disk limit at which a warning is sent. */
const warningShare = bounds.storage.warnPercents.value / 100

/** What counts towards one limit, and the run that wrote most of it. */
interface DiskUse {
  run: RunRow
  bytes: number
  limit: number
}

/** Enforces limits of time, activity and disk: sends a warning first, then ends the run. */
export class LimitEnforcer {
  readonly #ctx: RunsContext
  readonly #usage: UsageMonitor
  readonly #activity: ActivityTracker
  /** Runs with a warning about their maximum time, and about their disk. */
  readonly #warnedOfTime = new Set<number>()
  readonly #warnedOfDisk = new Set<number>()
  /** Runs with a warning about the engine's own disk limit. */
  readonly #warnedOfEngineLimit = new Set<number>()
  /** The time of each idle run's warning, and the last activity that it was about. */
  readonly #warnedOfIdleness = new Map<number, { usedAt: number; at: number }>()

  constructor(ctx: RunsContext, parts: { usage: UsageMonitor; activity: ActivityTracker }) {
    this.#ctx = ctx
    this.#usage = parts.usage
    this.#activity = parts.activity
  }

  /**
   * Checks every run once. Rejects when the limits cannot be read. A run that cannot be checked is
   * checked again the next time.
   */
  async enforce(): Promise<void> {
    const { runCache, logger, settings, store } = this.#ctx
    const rows = runCache.rows().filter(({ state }) => state !== "queued" && state !== "stopping")
    for (const kept of [this.#warnedOfTime, this.#warnedOfDisk, this.#warnedOfEngineLimit, this.#warnedOfIdleness])
      for (const id of kept.keys()) if (!runCache.row(id)) kept.delete(id)
    const ended = new Set<number>()
    const attempt = async (run: RunRow, work: () => Promise<boolean>) => {
      const isEnded = await work().catch((err: unknown) => void logger.warn({ err, run: run.id }, "the limits of a run were not enforced"))
      if (isEnded) ended.add(run.id)
    }
    await Promise.all(rows.map((run) => attempt(run, () => this.#enforceMaxTime(run))))
    const bounds = await loadLimits(
      store,
      rows.map(({ userId }) => userId),
      settings.defaultLimits,
    )
    const remaining = rows.filter(({ id }) => !ended.has(id))
    await Promise.all(remaining.map((run) => attempt(run, () => this.#enforceIdleTime(run, bounds.limits.get(run.userId)))))
    for (const { run, bytes, limit } of this.#largestWriters(bounds)) {
      if (!ended.has(run.id)) await attempt(run, () => this.#enforceMaxDisk(run, bytes, limit))
    }
    for (const run of remaining) this.#warnOfEngineLimit(run)
  }

  async #enforceMaxTime(run: RunRow): Promise<boolean> {
    const { clock, events } = this.#ctx
    if (run.expiresAt === null) return false
    const leftMs = run.expiresAt - clock.now()
    if (leftMs <= 0) return this.#stop(run, "max_time")
    if (leftMs <= maxWarningLeadMs && !this.#warnedOfTime.has(run.id)) {
      this.#warnedOfTime.add(run.id)
      events.warning(run, `The run reaches its longest allowed time at ${new Date(run.expiresAt).toISOString()} and is stopped then`)
    }
    return false
  }

  /**
   * A run is idle without requests, work or a report that it computes. It is skipped when the
   * engine cannot measure its work. The warning comes from this process, and the end no sooner than
   * the warning says: time without a watching process does not count.
   */
  async #enforceIdleTime(run: RunRow, limits: Limits | undefined): Promise<boolean> {
    const { clock, events } = this.#ctx
    const minutes = limits?.IdleMinutes ?? null
    if (run.state !== "ready" || minutes === null || !this.#usage.isCpuUseKnown(run.id)) return false
    const idleMs = Math.max(1, minutes) * minuteMs
    const leadMs = Math.min(maxWarningLeadMs, idleMs / 2)
    const usedAt = Math.max(run.readyTime ?? 0, run.lastActivity ?? 0, this.#activity.lastActivityOf(run.id) ?? 0)
    if (clock.now() - usedAt < idleMs - leadMs) return false
    if (await isComputing(this.#ctx, run)) {
      this.#activity.mark(run.id)
      return false
    }
    const warned = this.#warnedOfIdleness.get(run.id)
    if (warned?.usedAt === usedAt) {
      const isDue = clock.now() - usedAt >= idleMs && clock.now() - warned.at >= leadMs
      return isDue ? this.#stop(run, "idle", `Nobody used the run for ${Math.max(1, minutes)} minutes, and it did not compute`) : false
    }
    const now = clock.now()
    this.#warnedOfIdleness.set(run.id, { usedAt, at: now })
    const endsAt = new Date(Math.max(usedAt + idleMs, now + leadMs)).toISOString()
    events.warning(run, `Nobody uses the run: it is stopped at ${endsAt} unless somebody does`)
    return false
  }

  /** For each disk limit, the run that wrote most of what counts towards it, with the sum. */
  *#largestWriters({ limits, quotas }: LoadedLimits): Iterable<DiskUse> {
    const rows = this.#ctx.runCache.rows().filter(({ state }) => state !== "stopping")
    const writers = rows.map((run) => ({ run, bytes: this.#usage.layerOf(run)?.bytes ?? 0 })).sort((a, b) => b.bytes - a.bytes)
    const shares = [
      ...[...limits].map(([userId, { MaxDisk }]) => ({ limit: MaxDisk, counts: (run: RunRow) => run.userId === userId })),
      ...quotas.map((quota) => ({ limit: quota.limits.MaxDisk ?? null, counts: (run: RunRow) => quota.members.has(run.userName) })),
    ]
    for (const { limit, counts } of shares) {
      const own = writers.filter(({ run }) => counts(run))
      const most = own[0]
      if (limit !== null && most) yield { run: most.run, bytes: own.reduce((sum, { bytes }) => sum + bytes, 0), limit }
    }
  }

  async #enforceMaxDisk(run: RunRow, bytes: number, limit: number): Promise<boolean> {
    const written = Math.floor(bytes / mib)
    const text = `${written} MiB were written to the file systems of runs, of ${limit} MiB that are allowed`
    if (written > limit) return this.#stop(run, "disk_full", `${text}; this run wrote most`)
    if (written < limit * warningShare || limit === 0) this.#warnedOfDisk.delete(run.id)
    else if (!this.#warnedOfDisk.has(run.id)) {
      this.#warnedOfDisk.add(run.id)
      this.#ctx.events.warning(run, `${text}; beyond that the run that wrote most is stopped`)
    }
    return false
  }

  /**
   * The engine's limit is that of the run's start. If more is allowed by now, only a new start
   * gives it more.
   */
  #warnOfEngineLimit(run: RunRow): void {
    const { bytes = 0, maxMiB = null } = this.#usage.layerOf(run) ?? {}
    if (maxMiB === null || bytes <= maxMiB * mib || this.#warnedOfEngineLimit.has(run.id)) return
    this.#warnedOfEngineLimit.add(run.id)
    const text = `The run wrote ${Math.floor(bytes / mib)} MiB to its own file system, more than the ${maxMiB} MiB that were allowed when it was started`
    this.#ctx.events.warning(run, `${text}: its programs soon get errors of a full disk, until it is started again`)
  }

  async #stop(run: RunRow, code: "max_time" | "idle" | "disk_full", msg?: string): Promise<boolean> {
    await stopWithReason(this.#ctx, run, createReason(code, msg))
    return true
  }
}
