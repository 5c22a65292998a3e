import { type Lease, LeaseLostError } from "#leases"
import type { RunRow } from "#store"
import type { CapacityCache } from "../admission/capacity-cache.ts"
import { replanQueuedRuns } from "../admission/queue-replanning.ts"
import type { RunsContext } from "../context.ts"
import { Supervisor } from "../lifecycle/supervisor.ts"
import type { ActivityTracker } from "../limits/activity-tracker.ts"
import { pruneHistory } from "../limits/history-pruner.ts"
import { IdleRule } from "../limits/idle-rule.ts"
import { LimitEnforcer } from "../limits/limit-enforcer.ts"
import { UsageMonitor } from "../limits/usage-monitor.ts"
import { pruneLogs } from "../logs/logs.ts"
import { StorageEnforcer } from "../storage/storage-enforcer.ts"
import type { StorageMeter } from "../storage/storage-meter.ts"
import type { StorageQuotas } from "../storage/storage-quotas.ts"
import { pruneUsage } from "../usage/run-usage.ts"
import type { RowFollower } from "./row-follower.ts"

export interface SupervisionParts {
  lease: Lease
  rows: RowFollower
  capacity: CapacityCache
  activity: ActivityTracker
  storage?: { quotas: StorageQuotas; meter: StorageMeter } | undefined
}

/**
 * All that one process at a time does for the live runs. It ends with the lease, and once that is
 * lost it writes nothing and asks the engine for nothing more.
 */
export class Supervision implements AsyncDisposable {
  readonly supervisor: Supervisor
  readonly usage: UsageMonitor
  readonly idleRule: IdleRule
  readonly #ctx: RunsContext
  readonly #storage: StorageEnforcer | undefined
  readonly #closing = new AbortController()
  readonly #stack = new DisposableStack()
  #tasks: Promise<unknown>[] = []

  constructor(base: RunsContext, { lease, rows, capacity, activity, storage }: SupervisionParts) {
    const ctx = supervisionContext(base, {
      lease,
      closed: AbortSignal.any([base.closed, lease.lost, this.#closing.signal]),
      scheduleObservation: () => supervisor.scheduleObservation(),
    })
    const supervisor: Supervisor = new Supervisor(ctx, { capacity, rows })
    this.#ctx = ctx
    this.supervisor = supervisor
    this.usage = new UsageMonitor(ctx, activity)
    this.idleRule = new IdleRule(ctx, { usage: this.usage, activity })
    this.#storage = storage && new StorageEnforcer(ctx, { ...storage, usage: this.usage })
  }

  /**
   * Resumes the starts and stops of all live runs, and starts the background tasks.
   * `supervisor.start` compares with the engine.
   */
  resume(): void {
    const ctx = this.#ctx
    this.#stack.use(ctx.runCache.onChange((run) => this.supervisor.handleChange(run)))
    for (const run of ctx.runCache.rows()) this.supervisor.handleChange(run)
    this.#tasks = [
      pruneLogs(ctx),
      pruneHistory(ctx),
      pruneUsage(ctx),
      replanQueuedRuns(ctx),
      enforceLimits(ctx, this.usage, new LimitEnforcer(ctx, { usage: this.usage, idleRule: this.idleRule })),
      this.#storage?.run() ?? Promise.resolve(),
    ]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException("Quayside closes", "AbortError"))
    await Promise.all([this.supervisor.waitUntilClosed(), ...this.#tasks])
    this.#stack.dispose()
  }
}

/** Changes and messages carry the lease: those of a process that lost it are refused. */
function supervisionContext(
  base: RunsContext,
  { lease, closed, scheduleObservation }: { lease: Lease } & Pick<RunsContext, "closed" | "scheduleObservation">,
): RunsContext {
  const assertLeader = () => {
    if (!lease.isHeld()) throw new LeaseLostError("Another process may supervise the runs")
  }
  return {
    ...base,
    closed,
    scheduleObservation,
    assertLeader,
    async change(work, options) {
      assertLeader()
      return base.change(async (tx) => {
        await lease.assertHeldIn(tx)
        return work(tx)
      }, options)
    },
    events: {
      ...base.events,
      progress: (run, progress) => void (lease.isHeld() && base.events.progress(run, progress)),
      warning: (...told: [RunRow, string, number?]) => void (lease.isHeld() && base.events.warning(...told)),
    },
  }
}

/** Samples usage and enforces limits until Quayside closes. Unknown figures are not enforced. */
async function enforceLimits(
  { clock, closed, logger, settings }: RunsContext,
  usage: UsageMonitor,
  enforcer: LimitEnforcer,
): Promise<void> {
  const attempt = async (failureText: string, work: () => Promise<void>) => {
    if (!closed.aborted) await work().catch((err: unknown) => closed.aborted || logger.warn({ err }, failureText))
  }
  const pause = () => clock.sleep(settings.sampleEveryMs, closed).catch(() => {})
  await pause()
  while (!closed.aborted) {
    await attempt("the usage of runs was not sampled", () => usage.takeSamples())
    const paused = pause()
    // New measurements are evaluated before the next sample, but slow ones are not awaited.
    await Promise.race([usage.layersUpdated(), paused])
    await attempt("the limits of runs were not enforced", () => enforcer.enforce())
    await paused
  }
}
