import { randomBytes } from "node:crypto"
import { Failure, type Reason } from "#contract"
import { EngineError } from "#engine"
import type { Actor } from "#events"
import type { Change, RunPlan, RunRow } from "#store"
import { type Demand, type Node, overLimit, type Placement, type RunLimits, schedule, tooLarge } from "./admission.ts"
import type { Context } from "./context.ts"
import { reason } from "./reasons.ts"

/** A start that somebody asked for, with everything looked up that it names. */
export interface StartRequest {
  userId: number
  userName: string
  projectId: number
  plan: RunPlan
  /** Whole counts and MiB; 0 means the default. `gpuMemoryMiB` is what each GPU must have at least. */
  resources: { nodes: number; cpus: number; memoryMiB: number; gpus: number; gpuMemoryMiB: number }
  /** What the person may use at once, all of their runs together; null or absent is unlimited. */
  limits?: RunLimits | undefined
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

export interface Admission {
  request: StartRequest
  nodes: Node[] | EngineError
  takenDevices: ReadonlySet<string>
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
    const other = await tx.runs.liveOf(request.userId, request.projectId)
    if (other) throw new AlreadyRunning(other)
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

async function recall(tx: Change, userId: number, { key, bodyHash }: Idempotency): Promise<RunRow | undefined> {
  const entry = await tx.runs.recalled(userId, key)
  if (!entry) return undefined
  if (entry.bodyHash !== bodyHash)
    throw new Failure("conflict", "The Idempotency-Key was used with another body", { field: "Idempotency-Key" })
  return tx.runs.get(entry.runId)
}

type NewRun = Parameters<Change["runs"]["insert"]>[0]

async function newRow(ctx: Context, tx: Change, admission: Admission): Promise<NewRun> {
  const { request } = admission
  const { cpus, memoryMiB, nodes, gpus, gpuMemoryMiB } = request.resources
  const { defaultCpus, defaultMemoryMiB } = ctx.settings
  const demand = { cpus: cpus || defaultCpus, memoryMiB: memoryMiB || defaultMemoryMiB, gpus, gpuMemoryMiB, nodes: nodes || 1 }
  const live = await tx.runs.live()
  const why = refusal(ctx, admission, { demand, live })
  const placement = why ? undefined : place(ctx, admission, { demand, live })
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
    startTime: placement ? now : null,
    readyTime: null,
    endTime: why ? now : null,
    lastActivity: null,
    expiresAt: null,
    nodeNames: placement?.nodeNames ?? [],
    gpuDevices: placement?.gpuDevices ?? [],
    imageDigest: "",
  }
}

interface Situation {
  demand: Demand & { nodes: number }
  live: RunRow[]
}

function refusal({ engine }: Context, { request, nodes }: Admission, { demand, live }: Situation): Reason | undefined {
  if (request.refusal) return request.refusal
  const own = live.filter((run) => run.userId === request.userId)
  const quota = overLimit(demand, own, request.limits ?? {})
  if (quota) return quota
  if (nodes instanceof EngineError) return reason(nodes.code, nodes.message)
  if (engine.placement === "engine") return undefined
  return demand.nodes > 1 ? reason("nodes_unsupported") : tooLarge(demand, nodes)
}

/** Where it can start at once; undefined when it has to queue. */
function place({ engine }: Context, { nodes, takenDevices }: Admission, { demand, live }: Situation): Placement | undefined {
  if (engine.placement === "engine") return { nodeNames: [], gpuDevices: [] }
  if (nodes instanceof EngineError) return undefined
  const newest = { ...demand, id: Number.POSITIVE_INFINITY, state: "queued" as const, nodeNames: [], gpuDevices: [] }
  return schedule({ nodes, live: [...live, newest], takenDevices }).get(newest.id)
}
