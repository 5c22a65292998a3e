import { randomBytes } from "node:crypto"
import { Failure, type Limits, noLimits, type Reason } from "#contract"
import { EngineError } from "#engine"
import type { Actor } from "#events"
import type { Change, Reads, RunPlan, RunRow } from "#store"
import { type Demand, type Node, type Placement, schedule, tooLarge } from "./admission.ts"
import type { Context } from "./context.ts"
import { boundsOf } from "./limits.ts"
import { times } from "./queue.ts"
import { type Cap, overLimit } from "./quota.ts"
import { reason } from "./reasons.ts"

/** A start that somebody asked for, with everything looked up that it names. */
export interface StartRequest {
  userId: number
  userName: string
  projectId: number
  plan: RunPlan
  /** Whole counts and MiB; 0 means the default. `gpuMemoryMiB` is what each GPU must have at least. */
  resources: { nodes: number; cpus: number; memoryMiB: number; gpus: number; gpuMemoryMiB: number }
  /** Why it cannot be, where the caller knows already: the run is stored as `failed` with it. */
  refusal?: Reason | undefined
}

/** The caller's own key for a start; a second start under it gives the same run. */
export interface Idempotency {
  key: string
  /** sha256 of the body. */
  bodyHash: string
}

/** A person has at most one live run of a project. */
export class AlreadyRunning extends Failure {
  readonly run: RunRow

  constructor(run: RunRow) {
    super("already_running", `${run.userName} runs this project already: run ${run.id} is ${run.state}`, {
      extra: { ID: run.id, State: run.state },
    })
    this.run = run
  }
}

/** What a start is judged by, beside what the database holds. */
export interface Judged {
  request: StartRequest
  nodes: Node[] | EngineError
  takenDevices: ReadonlySet<string>
}

export interface Admission extends Judged {
  idempotency: Idempotency | undefined
  actor: Actor | undefined
  /** Called after COMMIT, before the run is published. */
  fresh(run: RunRow): void
}

/** The transaction of a start. Resolves with the new run, be it admitted, queued or failed, or with the one that the same key made. */
export function admit(ctx: Context, admission: Admission): Promise<RunRow> {
  return ctx.store.change(async (tx) => {
    const { request, idempotency, actor } = admission
    const known = idempotency && (await recall(tx, request.userId, idempotency))
    if (known) return known
    await checkStarter(tx, request)
    const run = await tx.runs.insert(await newRow(ctx, tx, admission))
    if (idempotency) await tx.runs.remember({ ...idempotency, userId: request.userId, runId: run.id, createdAt: ctx.clock.now() })
    if (actor) await ctx.events.asked(tx, { actor, verb: "start", run })
    await ctx.events.stateChanged(tx, run, undefined)
    tx.afterCommit(() => {
      admission.fresh(run)
      ctx.board.publish(run)
    })
    return run
  })
}

/** Who is disabled or deleted has all runs stopped in one go: none may come after. */
async function checkStarter(tx: Change, { userId, userName }: StartRequest): Promise<void> {
  const person = await tx.users.get(userId)
  if (!person || person.deletedAt !== null || person.isDisabled) throw new Failure("forbidden", `${userName} may run nothing any more`)
}

/** The run that the person's key made, undefined when it made none. Rejects with `conflict` when another body came with it. */
export async function recall(tx: Pick<Reads, "runs">, userId: number, { key, bodyHash }: Idempotency): Promise<RunRow | undefined> {
  const entry = await tx.runs.recalled(userId, key)
  if (!entry) return undefined
  if (entry.bodyHash !== bodyHash)
    throw new Failure("conflict", "The Idempotency-Key was used with another request", { field: "Idempotency-Key" })
  return tx.runs.get(entry.runId)
}

type NewRun = Parameters<Change["runs"]["insert"]>[0]

async function newRow(ctx: Context, tx: Change, admission: Admission): Promise<NewRun> {
  const { request } = admission
  const { demand, refusal: why, placement, limits } = await decide(ctx, tx, admission)
  const now = ctx.clock.now()
  return {
    key: randomBytes(16).toString("hex"),
    projectId: request.projectId,
    userId: request.userId,
    state: why ? "failed" : placement ? "pulling" : "queued",
    wanted: why ? "stop" : "run",
    reason: why ?? null,
    progress: null,
    spec: request.plan,
    ...demand,
    ...(placement ? times(limits, now) : { startTime: null, expiresAt: null }),
    readyTime: null,
    endTime: why ? now : null,
    lastActivity: null,
    nodeNames: placement?.nodeNames ?? [],
    gpuDevices: placement?.gpuDevices ?? [],
    imageDigest: "",
  }
}

/** What would become of a start that came now. */
export interface Decision {
  demand: Demand & { nodes: number }
  /** Why it cannot be. */
  refusal: Reason | undefined
  /** Where it goes at once; undefined when it is refused or has to queue. */
  placement: Placement | undefined
  /** Those of the person. */
  limits: Limits
  /** How many wait already. */
  queued: number
}

/** The one judgement of starts, real ones and previews. Rejects with `AlreadyRunning`. */
export async function decide(ctx: Context, reads: Pick<Reads, "runs" | "users" | "groups">, admission: Judged): Promise<Decision> {
  const { request } = admission
  const other = await reads.runs.liveOf(request.userId, request.projectId)
  if (other) throw new AlreadyRunning(other)
  const { cpus, memoryMiB, nodes, gpus, gpuMemoryMiB } = request.resources
  const { defaultCpus, defaultMemoryMiB } = ctx.settings
  const demand = { cpus: cpus || defaultCpus, memoryMiB: memoryMiB || defaultMemoryMiB, gpus, gpuMemoryMiB, nodes: nodes || 1 }
  const live = await reads.runs.live()
  const waiting = live.filter(({ state }) => state === "queued").map(({ userId }) => userId)
  const bounds = await boundsOf(reads, [request.userId, ...waiting])
  const limits = bounds.limits.get(request.userId) ?? noLimits
  const situation = { demand, live, limits, caps: bounds.caps }
  const refusal = refusalOf(ctx, admission, situation)
  const placement = refusal ? undefined : place(ctx, admission, situation)
  return { demand, refusal, placement, limits, queued: waiting.length }
}

interface Situation {
  demand: Demand & { nodes: number }
  live: RunRow[]
  limits: Limits
  caps: readonly Cap[]
}

function refusalOf({ engine }: Context, { request, nodes }: Judged, { demand, live, limits, caps }: Situation): Reason | undefined {
  if (request.refusal) return request.refusal
  const own = live.filter((run) => run.userId === request.userId)
  const quota = overLimit(demand, own, { limits, caps: caps.filter(({ members }) => members.has(request.userName)) })
  if (quota) return quota
  if (nodes instanceof EngineError) return reason(nodes.code, nodes.message)
  if (engine.placement === "engine") return undefined
  return demand.nodes > 1 ? reason("nodes_unsupported") : tooLarge(demand, nodes)
}

/** Where it can start at once; undefined when it has to queue. */
function place({ engine }: Context, { request, nodes, takenDevices }: Judged, { demand, live, caps }: Situation): Placement | undefined {
  if (engine.placement === "engine") return { nodeNames: [], gpuDevices: [] }
  if (nodes instanceof EngineError) return undefined
  const { userName } = request
  const newest = { ...demand, userName, id: Number.POSITIVE_INFINITY, state: "queued" as const, nodeNames: [], gpuDevices: [] }
  return schedule({ nodes, live: [...live, newest], takenDevices, caps }).get(newest.id)
}
