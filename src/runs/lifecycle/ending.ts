import { Failure, type Reason, type RunState, reasonMessages } from "#contract"
import { EngineError } from "#engine"
import { isStorageFull, type RunRow } from "#store"
import type { RunsContext, StopRequest } from "../context.ts"
import { FinalLogs } from "../logs/logs.ts"
import { explainFailedStart } from "../programs/start-hints.ts"
import { withLogTail } from "./reasons.ts"
import { endStateOf, transition, transitionInTransaction } from "./transitions.ts"

/** The states of a run that may end without a stop. A run that is `stopping` keeps its reason. */
const unstopped = ["queued", "pulling", "creating", "starting"] as const satisfies RunState[]

/** Ends a run of which the engine has nothing. */
export async function failRun(ctx: RunsContext, run: RunRow, reason: Reason): Promise<void> {
  await writeEnd(ctx, run, { path: ["failed"], from: unstopped, reason: explainFailedStart(run.spec, reason), endTime: ctx.clock.now() })
}

/** Begins to stop a run of which the engine may have a container. */
export async function stopWithReason(ctx: RunsContext, run: RunRow, reason: Reason): Promise<void> {
  const hasNoOutput = reason.code === "lost" || reason.code === "engine_unreachable"
  const withLog = hasNoOutput ? reason : await withLogTail(ctx, run.key, reason)
  const reasonWithLog = run.readyTime === null ? explainFailedStart(run.spec, withLog) : withLog
  const write = () => writeEnd(ctx, run, { path: ["stopping"], reason: reasonWithLog })
  await stopDespiteFullDisk(ctx, run, { request: { reason: reasonWithLog, actor: undefined }, write })
}

/**
 * A stop that the database could not take before is the first cause: the missing container follows
 * from it.
 */
async function writeEnd(
  ctx: RunsContext,
  run: RunRow,
  { path, from, reason, ...fields }: { path: RunState[]; from?: readonly RunState[]; reason: Reason; endTime?: number },
): Promise<void> {
  const request = ctx.pendingStops.get(run.id)
  const step = { path, ...(from && { from }), fields: { wanted: "stop" as const, reason: request?.reason ?? reason, ...fields } }
  if (!request) return void (await transition(ctx, run.id, step))
  await ctx.change(
    async (tx) => {
      const updated = await transitionInTransaction(ctx, tx, { id: run.id, ...step })
      if (updated && request.actor) await ctx.events.requested(tx, { actor: request.actor, verb: "stop", run: updated })
      tx.afterCommit(() => ctx.pendingStops.delete(run.id))
    },
    { urgent: true },
  )
}

/**
 * Writes that the run is to stop. On a full disk that rejects even this, the run is first stopped
 * in the engine, since its container may be what fills the disk. The request then stays in memory
 * as the reason of the next write; a process that dies before leaves a `lost` run. Rejects with an
 * `EngineError` when the engine failed, and with `storage_full` when the run was stopped and there
 * is still no room.
 */
export async function stopDespiteFullDisk<T>(
  ctx: RunsContext,
  run: RunRow,
  { request, write }: { request: StopRequest; write: () => Promise<T> },
): Promise<T> {
  const attempt = async () => {
    const written = await write()
    ctx.pendingStops.delete(run.id)
    return written
  }
  try {
    return await attempt()
  } catch (error) {
    if (!isStorageFull(error)) throw error
  }
  await stopBeforeWriting(ctx, run, request)
  try {
    return await attempt()
  } catch (cause) {
    const msg =
      "The run was stopped, but the disk that holds the database is full: its end is recorded as soon as the database can be written"
    throw new Failure("storage_full", msg, { cause })
  }
}

/** The first request wins. */
async function stopBeforeWriting(ctx: RunsContext, run: RunRow, request: StopRequest): Promise<void> {
  const isFirst = !ctx.pendingStops.has(run.id)
  if (isFirst) ctx.pendingStops.set(run.id, request)
  try {
    await removeContainer(ctx, run)
  } catch (error) {
    if (isFirst) ctx.pendingStops.delete(run.id)
    throw error
  }
}

/**
 * Removes the run's container and writes its end. Rejects when the engine failed; waiters of the
 * run are notified.
 */
export async function finishStop(ctx: RunsContext, run: RunRow): Promise<void> {
  await removeContainer(ctx, run).catch((error: EngineError) => {
    if (!ctx.closed.aborted) ctx.runCache.reportError(run.id, error)
    throw error
  })
  await transition(ctx, run.id, { path: [endStateOf(run)], fields: { endTime: ctx.clock.now() } })
}

/** Removes the run's container and stores its output. Rejects with an `EngineError`. */
async function removeContainer(ctx: RunsContext, run: RunRow): Promise<void> {
  const finalLogs = new FinalLogs(ctx, run)
  finalLogs.start()
  try {
    await stopEngine(ctx, run)
  } catch (error) {
    finalLogs.discard()
    throw asEngineError(error)
  }
  await finalLogs.save()
}

async function stopEngine(ctx: RunsContext, run: RunRow): Promise<void> {
  const { engine, settings, clock, closed } = ctx
  ctx.assertLeader()
  const { graceMs, timeoutsMs } = settings
  const late = new AbortController()
  const over = new AbortController()
  const limit = clock.sleep(graceMs + timeoutsMs.stopping, over.signal)
  limit.then(() => late.abort(new EngineError("timeout_stopping", reasonMessages.timeout_stopping))).catch(() => {})
  try {
    await engine.stop(run.key, { graceMs, signal: AbortSignal.any([late.signal, closed]) })
  } finally {
    over.abort()
  }
}

function asEngineError(error: unknown): EngineError {
  return error instanceof EngineError ? error : new EngineError("engine_error", reasonMessages.engine_error, { cause: error })
}
