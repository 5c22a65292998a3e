import type { EffectiveLimits, Reason } from "#contract"
import { EngineError } from "#engine"
import type { LiveRun, Reads, UserRunTotals } from "#store"
import type { RunsContext } from "../context.ts"
import { createReason } from "../lifecycle/reasons.ts"
import { loadLimits } from "../limits/effective-limits.ts"
import { fairOrder } from "./fair-order.ts"
import { positionOfNewRun } from "./queue.ts"
import { type GroupQuota, limitRefusal, queueLimitRefusal } from "./quotas.ts"
import { type AdmissionInput, AlreadyRunningError } from "./requests.ts"
import type { ResourceRequest } from "./resource-request.ts"
import { fitsNow, type Placement, schedule, unschedulableReason } from "./scheduler.ts"
import { WaitExplainer } from "./wait-explanation.ts"

type Readable = Pick<Reads, "runs" | "users" | "groups">

/** The outcome of a start at this moment. */
export interface AdmissionDecision {
  demand: ResourceRequest & { nodes: number }
  /** The reason why it cannot start. */
  refusal: Reason | undefined
  /** Its placement when it can start at once; undefined when it is refused or queued. */
  placement: Placement | undefined
  /** Those of the person. */
  limits: EffectiveLimits
  /** Of the person's groups. */
  quotas: readonly GroupQuota[]
}

/** The place of a start in the queue. Both are undefined if it would not wait. */
export interface StartPreview extends AdmissionDecision {
  position: number | undefined
  waitsFor: string | undefined
}

/** Previews a start: makes the same decision, and starts nothing. */
export async function previewStart(ctx: RunsContext, input: AdmissionInput): Promise<StartPreview> {
  const decision = await decideAdmission(ctx, ctx.store, input)
  const { demand, refusal, placement, quotas } = decision
  if (refusal || placement) return { ...decision, position: undefined, waitsFor: undefined }
  const { request, nodes, containerDevices } = input
  const position = positionOfNewRun(ctx.runCache, { userId: request.userId, demand, now: ctx.clock.now() })
  const conditions = { nodes: nodes instanceof EngineError ? [] : nodes, containerDevices, quotas }
  const explainer = new WaitExplainer(conditions, ctx.runCache.rows())
  return { ...decision, position, waitsFor: explainer.explain({ ...demand, userName: request.userName }, position - 1) }
}

interface AdmissionState {
  demand: ResourceRequest & { nodes: number }
  /** The resources of the person's own live runs. */
  own: UserRunTotals
  limits: EffectiveLimits
  /** Of the person's groups. */
  quotas: readonly GroupQuota[]
}

/**
 * Decides about starts and previews alike. Rejects with `AlreadyRunningError`. It reads the runs
 * that hold resources and the person's own totals; the queue only while there is room that the
 * start might get. A long queue therefore does not slow down new starts.
 */
export async function decideAdmission(ctx: RunsContext, reads: Readable, input: AdmissionInput): Promise<AdmissionDecision> {
  const { request } = input
  const { userId } = request
  const [existing, loaded, own] = await Promise.all([
    reads.runs.liveOf(userId, request.projectId),
    loadLimits(reads, [userId], ctx.settings.defaultLimits),
    reads.runs.holdings(userId),
  ])
  if (existing) throw new AlreadyRunningError(existing)
  const { cpus, memoryMiB, nodes, gpus, gpuMemoryMiB } = request.resources
  const { defaultCpus, defaultMemoryMiB, defaultLimits } = ctx.settings
  const demand = { cpus: cpus || defaultCpus, memoryMiB: memoryMiB || defaultMemoryMiB, gpus, gpuMemoryMiB, nodes: nodes || 1 }
  const limits = loaded.limits.get(userId) ?? defaultLimits
  ctx.runCache.fairnessFacts.setGroups(loaded.groupIds)
  const state = { demand, own, limits, quotas: loaded.quotas }
  const refusal = refusalOf(ctx, input, state)
  if (refusal) return { demand, refusal, placement: undefined, limits, quotas: loaded.quotas }
  const placement = await findPlacement(ctx, reads, input, state)
  return { demand, refusal: placement ? undefined : await queueRefusal(reads, state), placement, limits, quotas: loaded.quotas }
}

function refusalOf(
  { engine }: RunsContext,
  { request, nodes }: AdmissionInput,
  { demand, own, limits, quotas }: AdmissionState,
): Reason | undefined {
  if (request.refusal) return request.refusal
  const quota = limitRefusal(demand, own, { limits, quotas })
  if (quota) return quota
  if (nodes instanceof EngineError) return createReason(nodes.code, nodes.message)
  if (engine.placement === "engine") return undefined
  return demand.nodes > 1 ? createReason("nodes_unsupported") : unschedulableReason(demand, nodes)
}

/** The reason why the run may not be queued, either. */
async function queueRefusal(reads: Readable, { own, limits, quotas }: AdmissionState): Promise<Reason | undefined> {
  const isShared = quotas.some((quota) => typeof quota.limits.MaxQueued === "number")
  return queueLimitRefusal(own.queued, { limits, quotas, all: isShared ? await reads.runs.queued() : [] })
}

/** The placement of a start; undefined when it has to queue. */
async function findPlacement(
  ctx: RunsContext,
  reads: Readable,
  input: AdmissionInput,
  state: AdmissionState,
): Promise<Placement | undefined> {
  if (ctx.engine.placement === "engine") return { nodeNames: [], gpuDevices: [] }
  const { request, nodes, containerDevices } = input
  if (nodes instanceof EngineError) return undefined
  const { userId, userName } = request
  const admitted = await reads.runs.admitted()
  const { demand, quotas } = state
  if (!fitsNow({ ...demand, userName }, { nodes, live: admitted, containerDevices, quotas })) return undefined
  const joining: LiveRun = {
    ...{ ...demand, id: Number.POSITIVE_INFINITY, userId, userName, state: "queued" },
    ...{ nodeNames: [], gpuDevices: [], createdAt: ctx.clock.now(), startTime: null },
  }
  const ordered = fairOrder([...(await reads.runs.queued()), joining], admitted, ctx.runCache.fairnessFacts)
  const ahead = ordered.slice(0, ordered.indexOf(joining) + 1)
  const userIds = ahead.map((run) => run.userId)
  const all = ahead.length === 1 ? quotas : (await loadLimits(reads, userIds, ctx.settings.defaultLimits)).quotas
  return schedule({ nodes, live: [...admitted, ...ahead], containerDevices, quotas: all }).get(joining.id)
}
