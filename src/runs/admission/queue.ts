import type { EffectiveLimits, Reason } from "#contract"
import type { Change, LiveRun, Reads, RunPlan, RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { transitionInTransaction } from "../lifecycle/transitions.ts"
import { type LoadedLimits, loadLimits, lowestOf } from "../limits/effective-limits.ts"
import type { RunCache } from "../run-cache.ts"
import type { CapacityCache } from "./capacity-cache.ts"
import { fairOrder, type QueuedRun } from "./fair-order.ts"
import type { GroupQuota } from "./quotas.ts"
import type { ResourceRequest } from "./resource-request.ts"
import { type Placement, schedule } from "./scheduler.ts"

/**
 * How long one transaction takes runs out of the queue. Each is planned again, and everybody's
 * changes wait meanwhile.
 */
const maxDequeueMs = 10

/** Starts queued runs while there is room, a few in one transaction. */
export async function startQueuedRuns(ctx: RunsContext, capacity: CapacityCache, containerDevices: ReadonlySet<string>): Promise<void> {
  const { runCache } = ctx
  const rows = runCache.rows()
  const queued = rows.filter(({ state }) => state === "queued")
  if (queued.length === 0) return
  const nodes = await capacity.nodes()
  const placementsOf: PlacementsOf = (holding, waiting, quotas) =>
    schedule({ nodes, live: [...holding, ...fairOrder(waiting, holding, runCache.fairnessFacts)], containerDevices, quotas })
  const { quotas, groupIds } = await limitsOf(ctx, ctx.store, queued)
  runCache.fairnessFacts.setGroups(groupIds)
  runCache.setQueueConditions({ nodes, containerDevices, quotas })
  const holding = rows.filter(({ state }) => state !== "queued")
  if (placementsOf(holding, queued, quotas).size === 0) return
  while (!ctx.closed.aborted && (await dequeueSome(ctx, placementsOf))) {}
}

type PlacementsOf = (holding: readonly LiveRun[], waiting: readonly LiveRun[], quotas: readonly GroupQuota[]) => Map<number, Placement>

/** Resolves with whether there is room for more of them. */
function dequeueSome(ctx: RunsContext, placementsOf: PlacementsOf): Promise<boolean> {
  return ctx.change(async (tx) => {
    const waiting = await tx.runs.queued()
    const loaded = await limitsOf(ctx, tx, waiting)
    const userIds = new Map(waiting.map(({ id, userId }) => [id, userId]))
    const placements = [...placementsOf(await tx.runs.admitted(), waiting, loaded.quotas)]
    const until = ctx.clock.monotonic() + maxDequeueMs
    for (const [n, [id, placement]] of placements.entries()) {
      if (n > 0 && ctx.clock.monotonic() >= until) return true
      await dequeue(ctx, tx, { id, placement, limits: loaded.limits.get(userIds.get(id) ?? 0) })
    }
    return false
  })
}

function limitsOf(ctx: RunsContext, reads: Pick<Reads, "users" | "groups">, runs: readonly LiveRun[]): Promise<LoadedLimits> {
  return loadLimits(
    reads,
    runs.map(({ userId }) => userId),
    ctx.settings.defaultLimits,
  )
}

/** Plans the run again by current rights in the transaction that starts it, or ends it. */
async function dequeue(
  ctx: RunsContext,
  tx: Change,
  { id, placement, limits }: { id: number; placement: Placement; limits: EffectiveLimits | undefined },
): Promise<void> {
  const run = await tx.runs.get(id)
  if (!run) return
  const replanned = await ctx.replan(tx, run)
  if ("refusal" in replanned) await endQueuedRun(ctx, tx, { id, reason: replanned.refusal })
  else {
    const spec = replanned.plan
    const fields = { ...placement, ...startAndExpiryTimes(spec, limits, ctx.clock.now()), spec }
    await transitionInTransaction(ctx, tx, { id, path: ["pulling"], fields })
  }
}

/** Ends a queued run at once, since the engine was never called for it. */
export async function endQueuedRun(
  ctx: RunsContext,
  tx: Change,
  { id, reason }: { id: number; reason: Reason },
): Promise<RunRow | undefined> {
  await transitionInTransaction(ctx, tx, { id, path: ["stopping"], fields: { wanted: "stop", reason } })
  return transitionInTransaction(ctx, tx, { id, path: ["ended"], fields: { endTime: ctx.clock.now() } })
}

/**
 * The start time, and the time at which the run reaches its maximum run time: the lowest of the
 * person and the project.
 */
export function startAndExpiryTimes(
  { maxRunHours }: Pick<RunPlan, "maxRunHours">,
  limits: EffectiveLimits | undefined,
  startTime: number,
): Pick<RunRow, "startTime" | "expiresAt"> {
  const hours = lowestOf([maxRunHours, limits?.MaxRunHours])
  return { startTime, expiresAt: hours === null ? null : startTime + hours * 3_600_000 }
}

/** The queue position, from 1, of a run requested now. */
export function positionOfNewRun(
  runCache: RunCache,
  { userId, demand, now }: { userId: number; demand: ResourceRequest; now: number },
): number {
  const joining: QueuedRun = { ...demand, id: Number.POSITIVE_INFINITY, userId, createdAt: now }
  return runCache.queue(joining).indexOf(joining) + 1
}
