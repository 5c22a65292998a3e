import { randomBytes } from "node:crypto"
import { Failure } from "#contract"
import type { Actor } from "#events"
import type { Change, Reads, RunRow } from "#store"
import type { Context } from "./context.ts"
import { decide } from "./decide.ts"
import { times } from "./queue.ts"
import type { Idempotency, Judged, StartRequest } from "./requests.ts"

export interface Admission extends Judged {
  idempotency: Idempotency | undefined
  actor: Actor | undefined
  /** Called after COMMIT, before the run is published. */
  fresh(run: RunRow): void
}

/**
 * The transaction of a start. Resolves with the new run, be it admitted, queued or failed, or with
 * the one that the same key made.
 */
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

/**
 * The run that the person's key made, undefined when it made none. Rejects with `conflict` when
 * another body came with it.
 */
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
