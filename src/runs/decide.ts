import type { EffectiveLimits, Reason } from "#contract"
import { EngineError } from "#engine"
import type { Holdings, LiveRun, Reads } from "#store"
import { type Demand, fitsNow, type Placement, schedule, tooLarge } from "./admission.ts"
import type { Context } from "./context.ts"
import { boundsOf } from "./limits.ts"
import { type Cap, overLimit, overQueueLimit } from "./quota.ts"
import { reason } from "./reasons.ts"
import { AlreadyRunning, type Judged } from "./requests.ts"
import { inTurn } from "./turns.ts"

type Readable = Pick<Reads, "runs" | "users" | "groups">

/** What would become of a start that came now. */
export interface Decision {
  demand: Demand & { nodes: number }
  /** Why it cannot be. */
  refusal: Reason | undefined
  /** Where it goes at once; undefined when it is refused or has to queue. */
  placement: Placement | undefined
  /** Those of the person. */
  limits: EffectiveLimits
}

interface Situation {
  demand: Demand & { nodes: number }
  /** What the person's own live runs hold. */
  own: Holdings
  limits: EffectiveLimits
  /** Of the person's groups. */
  caps: readonly Cap[]
}

/**
 * The one judgement of starts, real ones and previews. Rejects with `AlreadyRunning`. It reads the
 * runs that hold something and the person's own; the queue is read only while there is room that
 * the start might get, so a long queue does not slow down what joins it.
 */
export async function decide(ctx: Context, reads: Readable, judged: Judged): Promise<Decision> {
  const { request } = judged
  const other = await reads.runs.liveOf(request.userId, request.projectId)
  if (other) throw new AlreadyRunning(other)
  const { cpus, memoryMiB, nodes, gpus, gpuMemoryMiB } = request.resources
  const { defaultCpus, defaultMemoryMiB, defaultLimits } = ctx.settings
  const demand = { cpus: cpus || defaultCpus, memoryMiB: memoryMiB || defaultMemoryMiB, gpus, gpuMemoryMiB, nodes: nodes || 1 }
  const bounds = await boundsOf(reads, [request.userId], defaultLimits)
  const limits = bounds.limits.get(request.userId) ?? defaultLimits
  const own = await reads.runs.holdings(request.userId)
  const situation = { demand, own, limits, caps: bounds.caps }
  const refusal = refusalOf(ctx, judged, situation)
  if (refusal) return { demand, refusal, placement: undefined, limits }
  const placement = await place(ctx, reads, judged, situation)
  return { demand, refusal: placement ? undefined : await waitRefusal(reads, situation), placement, limits }
}

function refusalOf({ engine }: Context, { request, nodes }: Judged, { demand, own, limits, caps }: Situation): Reason | undefined {
  if (request.refusal) return request.refusal
  const quota = overLimit(demand, own, { limits, caps })
  if (quota) return quota
  if (nodes instanceof EngineError) return reason(nodes.code, nodes.message)
  if (engine.placement === "engine") return undefined
  return demand.nodes > 1 ? reason("nodes_unsupported") : tooLarge(demand, nodes)
}

/** Why the run may not wait, either. */
async function waitRefusal(reads: Readable, { own, limits, caps }: Situation): Promise<Reason | undefined> {
  const isShared = caps.some((cap) => typeof cap.limits.MaxQueued === "number")
  return overQueueLimit(own.queued, { limits, caps, all: isShared ? await reads.runs.queued() : [] })
}

/** Where it can start at once; undefined when it has to queue. */
async function place(ctx: Context, reads: Readable, judged: Judged, situation: Situation): Promise<Placement | undefined> {
  if (ctx.engine.placement === "engine") return { nodeNames: [], gpuDevices: [] }
  const { request, nodes, takenDevices } = judged
  if (nodes instanceof EngineError) return undefined
  const { userId, userName } = request
  const held = await reads.runs.held()
  const { demand, caps } = situation
  if (!fitsNow({ ...demand, userName }, { nodes, live: held, takenDevices, caps })) return undefined
  const newest: LiveRun = {
    ...{ ...demand, id: Number.POSITIVE_INFINITY, userId, userName, state: "queued" },
    ...{ nodeNames: [], gpuDevices: [], createdAt: ctx.clock.now(), startTime: null },
  }
  const waiting = inTurn([...(await reads.runs.queued()), newest], ctx.board.turns)
  const before = waiting.slice(0, waiting.indexOf(newest) + 1)
  const people = before.map((run) => run.userId)
  const all = before.length === 1 ? caps : (await boundsOf(reads, people, ctx.settings.defaultLimits)).caps
  return schedule({ nodes, live: [...held, ...before], takenDevices, caps: all }).get(newest.id)
}
