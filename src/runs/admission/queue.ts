import type { EffectiveLimits, Reason } from "#contract"
import type { Change, LiveRun, Reads, RunPlan, RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { transitionInTransaction } from "../lifecycle/transitions.ts"
import { loadLimits, lowestOf } from "../limits/effective-limits.ts"
import type { RunCache } from "../run-cache.ts"
import type { CapacityCache } from "./capacity-cache.ts"
import { fairOrder, type QueuedRun } from "./fair-order.ts"
import type { ResourceRequest } from "./resource-request.ts"
import { type Placement, schedule } from "./scheduler.ts"

/** Starts queued runs while there is room, in one transaction. */
export async function startQueuedRuns(ctx: RunsContext, capacity: CapacityCache, containerDevices: ReadonlySet<string>): Promise<void> {
  if (!ctx.runCache.rows().some(({ state }) => state === "queued")) return
  const nodes = await capacity.nodes()
  const findPlacements = async (reads: Pick<Reads, "users" | "groups">, admitted: readonly LiveRun[], queued: readonly LiveRun[]) => {
    const userIds = queued.map(({ userId }) => userId)
    const { quotas, limits, groupIds } = await loadLimits(reads, userIds, ctx.settings.defaultLimits)
    ctx.runCache.fairnessFacts.setGroups(groupIds)
    ctx.runCache.setQueueConditions({ nodes, containerDevices, quotas })
    const ordered = fairOrder(queued, admitted, ctx.runCache.fairnessFacts)
    return { placements: schedule({ nodes, live: [...admitted, ...ordered], containerDevices, quotas }), limits, ordered }
  }
  const rows = ctx.runCache.rows()
  const isQueued = ({ state }: RunRow) => state === "queued"
  const expected = await findPlacements(
    ctx.store,
    rows.filter((run) => !isQueued(run)),
    rows.filter(isQueued),
  )
  if (expected.placements.size === 0) return
  await ctx.store.change(async (tx) => {
    const { placements, limits, ordered } = await findPlacements(tx, await tx.runs.admitted(), await tx.runs.queued())
    for (const { id, userId } of ordered) {
      const placement = placements.get(id)
      if (placement) await dequeue(ctx, tx, { id, placement, limits: limits.get(userId) })
    }
  })
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
