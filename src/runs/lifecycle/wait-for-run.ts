import { Failure, isLive } from "#contract"
import type { EngineError } from "#engine"
import { abortable } from "#kit"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"

export interface WaitOptions {
  /** Whether the run has reached the awaited state. */
  isReached(run: RunRow): boolean
  /**
   * Called when a step failed that will be retried. A returned failure rejects the wait; "resolve"
   * resolves it with the run as it is.
   */
  onError(error: EngineError): Failure | "resolve"
  signal?: AbortSignal | undefined
}

/**
 * Resolves with the run when it has reached the awaited state, at the latest when it has ended.
 * Undefined when there is no such run. Rejects with the signal's reason.
 */
export async function waitForRun(ctx: RunsContext, id: number, { isReached, onError, signal }: WaitOptions): Promise<RunRow | undefined> {
  signal?.throwIfAborted()
  const result = Promise.withResolvers<RunRow>()
  result.promise.catch(() => {})
  const handleError = (error: EngineError) => {
    const outcome = onError(error)
    const run = ctx.runCache.row(id)
    if (outcome !== "resolve") result.reject(outcome)
    else if (run) result.resolve(run)
  }
  const handleChange = (run: RunRow) => {
    if (!isLive(run.state) || isReached(run)) result.resolve(run)
  }
  using _listening = ctx.runCache.listen(id, { changed: handleChange, errored: handleError })
  const now = ctx.runCache.row(id) ?? (await ctx.store.runs.get(id))
  if (!now || !isLive(now.state) || isReached(now)) return now
  return await abortable(result.promise, signal)
}

export interface SettleOptions {
  /** Maximum wait for a queued run. Default 30,000. */
  queuedMs?: number
  signal?: AbortSignal | undefined
}

/**
 * Resolves when the run is ready, has ended, or is still queued after `queuedMs`. Also resolves
 * when it is `stopping` and the engine prevents its end: its reason is then known, and the end may
 * take long.
 */
export async function waitUntilSettled(ctx: RunsContext, id: number, { queuedMs = 30_000, signal }: SettleOptions): Promise<RunRow> {
  const onError = () => "resolve" as const
  const run = await waitUntilDequeued(ctx, id, { queuedMs, signal })
  if (run?.state === "queued") return run
  const isReached = ({ state, reason }: RunRow) => state === "ready" || reason?.code === "engine_unreachable"
  const settled = await waitForRun(ctx, id, { isReached, onError, signal })
  if (!settled) throw new Failure("not_found", `There is no run ${id}`)
  return settled
}

async function waitUntilDequeued(
  ctx: RunsContext,
  id: number,
  { queuedMs, signal }: { queuedMs: number; signal: AbortSignal | undefined },
) {
  const waitEnd = new AbortController()
  const timeout = new AbortController()
  ctx.clock.sleep(queuedMs, waitEnd.signal).then(
    () => timeout.abort(),
    () => {},
  )
  const eitherSignal = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal
  try {
    return await waitForRun(ctx, id, { isReached: ({ state }) => state !== "queued", onError: () => "resolve", signal: eitherSignal })
  } catch (error) {
    if (!timeout.signal.aborted || signal?.aborted) throw error
    return ctx.runCache.row(id) ?? ctx.store.runs.get(id)
  } finally {
    waitEnd.abort()
  }
}
