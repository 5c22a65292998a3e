import { Failure, isLive, type Reason } from "#contract"
import { EngineError } from "#engine"
import type { Actor } from "#events"
import type { Change, RunRow } from "#store"
import { endQueuedRun } from "../admission/queue.ts"
import type { RunsContext } from "../context.ts"
import { stopDespiteFullDisk } from "./ending.ts"
import { createReason } from "./reasons.ts"
import { type RequestedStopCode, transitionInTransaction } from "./transitions.ts"
import { waitForRun } from "./wait-for-run.ts"

export interface StopOptions {
  by: RequestedStopCode
  /** As in `RequestOptions`. */
  change?: RunsContext["change"] | undefined
  /** The person who requested it, for the audit. */
  actor?: Actor | undefined
  signal?: AbortSignal | undefined
}

export interface StopContext {
  ctx: RunsContext
  /** Retries at once what the run waits for, if this process supervises it. */
  wake(): void
}

/** Implements `Runs.stop`. */
export async function stopRun({ ctx, wake }: StopContext, id: number, { by, actor, signal }: StopOptions): Promise<RunRow | undefined> {
  const run = await writeStop(ctx, id, { by, actor })
  if (!run || !isLive(run.state)) return run
  wake()
  return waitForRun(ctx, id, { isReached: () => false, onError: stopFailure, signal })
}

/** Other people's stops name the person, since the starter did not request them. */
function stopReasonOf({ userName }: RunRow, by: RequestedStopCode, actor: Actor | undefined): Reason {
  const isByOther = by === "stopped_by_user" && actor !== undefined && actor.userName !== userName
  if (isByOther) return createReason(by, `${actor.userName}, who was given the right to, stopped the run`)
  return by === "stopped_by_user" && actor ? createReason(by, "The person who started the run stopped it") : createReason(by)
}

async function writeStop(ctx: RunsContext, id: number, { by, actor }: Pick<StopOptions, "by" | "actor">): Promise<RunRow | undefined> {
  const work = async (tx: Change) => {
    const now = await tx.runs.get(id)
    // The first request wins; further ones would fill the audit, also on a full disk.
    if (!now || !isLive(now.state) || now.state === "stopping") return now
    if (actor) await ctx.events.requested(tx, { actor, verb: "stop", run: now })
    const reason = stopReasonOf(now, by, actor)
    if (now.state === "queued") return endQueuedRun(ctx, tx, { id, reason })
    return (await transitionInTransaction(ctx, tx, { id, path: ["stopping"], fields: { wanted: "stop", reason } })) ?? now
  }
  const write = () => ctx.change(work, { urgent: true })
  const run = ctx.runCache.row(id)
  if (!run || run.state === "queued") return write()
  return stopDespiteFullDisk(ctx, run, { request: { reason: stopReasonOf(run, by, actor), actor }, write }).catch((error: unknown) => {
    throw error instanceof EngineError ? stopFailure(error) : error
  })
}

function stopFailure(error: EngineError): Failure {
  const known = error.code === "engine_unreachable" || error.code === "timeout_stopping"
  const msg = `${error.message}; the run is stopped as soon as possible`
  return new Failure(known ? error.code : "engine_error", msg, { status: 503, cause: error })
}
