import { bounds, type Limits } from "#contract"
import { uncountedBytes } from "#engine"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { stopWithReason } from "../lifecycle/ending.ts"
import { createReason } from "../lifecycle/reasons.ts"
import { type LoadedLimits, loadLimits } from "./effective-limits.ts"
import { EndWarnings, warningLeadMs } from "./end-warnings.ts"
import type { IdleRule } from "./idle-rule.ts"
import type { UsageMonitor } from "./usage-monitor.ts"

const mib = 2 ** 20
/** The part of a disk limit at which a warning is sent. */
const warningShare = bounds.storage.warnPercents.value / 100

/** The amount that counts towards one limit, and the run that wrote most of it. */
interface DiskUse {
  run: RunRow
  bytes: number
  limit: number
}

/** Enforces limits of time, activity and disk: sends a warning first, then ends the run. */
export class LimitEnforcer {
  readonly #ctx: RunsContext
  readonly #usage: UsageMonitor
  readonly #idleRule: IdleRule
  readonly #timeWarnings: EndWarnings
  /** Runs with a warning about their disk. */
  readonly #warnedOfDisk = new Set<number>()
  /** Runs with a warning about the engine's own disk limit. */
  readonly #warnedOfEngineLimit = new Set<number>()

  constructor(ctx: RunsContext, parts: { usage: UsageMonitor; idleRule: IdleRule }) {
    this.#ctx = ctx
    this.#usage = parts.usage
    this.#idleRule = parts.idleRule
    this.#timeWarnings = new EndWarnings(ctx)
  }

  /**
   * Checks every run once. Rejects when the limits cannot be read. A run that cannot be checked is
   * checked again the next time.
   */
  async enforce(): Promise<void> {
    const { runCache, logger, settings, store } = this.#ctx
    const rows = runCache.rows().filter(({ state }) => state !== "queued" && state !== "stopping")
    const isLive = (id: number) => runCache.row(id) !== undefined
    for (const kept of [this.#warnedOfDisk, this.#warnedOfEngineLimit]) for (const id of kept) if (!isLive(id)) kept.delete(id)
    for (const kept of [this.#timeWarnings, this.#idleRule]) kept.retainOnly(isLive)
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
    if (run.expiresAt === null) return false
    const isDue = this.#timeWarnings.warnUntilDue({
      run,
      cause: run.expiresAt,
      leftMs: run.expiresAt - this.#ctx.clock.now(),
      leadMs: warningLeadMs(run.expiresAt - (run.startTime ?? 0)),
      text: (endsAt) => `The run reaches its longest allowed time and is stopped at ${endsAt}`,
    })
    return isDue ? this.#stop(run, "max_time") : false
  }

  async #enforceIdleTime(run: RunRow, limits: Limits | undefined): Promise<boolean> {
    if (!(await this.#idleRule.isDue(run, limits))) return false
    const minutes = this.#idleRule.limitOf(run, limits)
    return this.#stop(run, "idle", `Nobody used the run for ${minutes} minutes, and it did not compute`)
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
    const text =
      bytes < uncountedBytes
        ? `${written} MiB were written to the file systems of runs, of ${limit} MiB that are allowed`
        : `The files that runs wrote to their file systems take too long to be counted, and ${limit} MiB are allowed`
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
    if (maxMiB === null || bytes <= maxMiB * mib || bytes >= uncountedBytes || this.#warnedOfEngineLimit.has(run.id)) return
    this.#warnedOfEngineLimit.add(run.id)
    const text = `The run wrote ${Math.floor(bytes / mib)} MiB to its own file system, more than the ${maxMiB} MiB that were allowed when it was started`
    this.#ctx.events.warning(run, `${text}: its programs soon get errors of a full disk, until it is started again`)
  }

  async #stop(run: RunRow, code: "max_time" | "idle" | "disk_full", msg?: string): Promise<boolean> {
    await stopWithReason(this.#ctx, run, createReason(code, msg))
    return true
  }
}
