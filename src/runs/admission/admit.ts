import { Failure } from "#contract"
import type { Actor } from "#events"
import type { Change, Reads, RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { decideAdmission } from "./decision.ts"
import { startAndExpiryTimes } from "./queue.ts"
import type { AdmissionInput, IdempotencyKey, StartRequest } from "./requests.ts"

export interface AdmitOptions extends AdmissionInput {
  idempotency: IdempotencyKey | undefined
  actor: Actor | undefined
  /** Called after COMMIT, before the run is published. */
  onAdmitted(run: RunRow): void
}

/**
 * The transaction of a start. Resolves with the new run, be it admitted, queued or failed, or with
 * the one that the same key made.
 */
export function admit(ctx: RunsContext, options: AdmitOptions): Promise<RunRow> {
  return ctx.change(async (tx) => {
    const { request, idempotency, actor } = options
    const earlier = idempotency && (await findByIdempotencyKey(tx, request.userId, idempotency))
    if (earlier) return earlier
    await assertMayStart(tx, request)
    const run = await tx.runs.insert(await newRow(ctx, tx, options))
    const entry = idempotency && { ...idempotency, userId: request.userId, runId: run.id, createdAt: ctx.clock.now() }
    await Promise.all([
      entry && tx.runs.saveIdempotencyKey(entry),
      actor && ctx.events.requested(tx, { actor, verb: "start", run }),
      ctx.events.stateChanged(tx, run, undefined),
    ])
    tx.afterCommit(() => {
      options.onAdmitted(run)
      ctx.runCache.publish(run)
    })
    return run
  })
}

/** Disabling or deleting a person stops all their runs once, so no run may start afterwards. */
async function assertMayStart(tx: Change, { userId, userName }: StartRequest): Promise<void> {
  const person = await tx.users.get(userId)
  if (!person || person.deletedAt !== null || person.isDisabled)
    throw new Failure("forbidden", `${userName} was disabled or deleted, and may not start runs`)
}

/**
 * The run that the person's key made, undefined when it made none. Rejects with `conflict` when
 * another body came with it.
 */
export async function findByIdempotencyKey(
  tx: Pick<Reads, "runs">,
  userId: number,
  { key, bodyHash }: IdempotencyKey,
): Promise<RunRow | undefined> {
  const entry = await tx.runs.findIdempotencyKey(userId, key)
  if (!entry) return undefined
  if (entry.bodyHash !== bodyHash)
    throw new Failure("conflict", "The Idempotency-Key was used with another request", { field: "Idempotency-Key" })
  return tx.runs.get(entry.runId)
}

type NewRun = Parameters<Change["runs"]["insert"]>[0]

async function newRow(ctx: RunsContext, tx: Change, options: AdmitOptions): Promise<NewRun> {
  const { request } = options
  const { demand, refusal, placement, limits } = await decideAdmission(ctx, tx, options)
  const now = ctx.clock.now()
  return {
    key: ctx.newKey(),
    projectId: request.projectId,
    userId: request.userId,
    state: refusal ? "failed" : placement ? "pulling" : "queued",
    wanted: refusal ? "stop" : "run",
    reason: refusal ?? null,
    progress: null,
    spec: request.plan,
    ...demand,
    ...(placement ? startAndExpiryTimes(request.plan, limits, now) : { startTime: null, expiresAt: null }),
    readyTime: null,
    endTime: refusal ? now : null,
    lastActivity: null,
    idleEndsAt: null,
    nodeNames: placement?.nodeNames ?? [],
    gpuDevices: placement?.gpuDevices ?? [],
    imageDigest: "",
    registryDigest: "",
  }
}
