import { Failure, isLive } from "#contract"
import type { EngineError } from "#engine"
import { abortable } from "#kit"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"

export interface WaitOptions {
  /** Whether the run is as one waits for it to be. */
  isReached(run: RunRow): boolean
  /**
   * A step that the run waits for failed and will be tried again: a failure ends the wait with it,
   * `enough` with the run as it stands.
   */
  onError(error: EngineError): Failure | "enough"
  signal?: AbortSignal | undefined
}

/**
 * Resolves with the run once it is as wanted, at the latest when it is over. Undefined when there
 * is no such run. Rejects with the signal's reason.
 */
export async function waitForRun(ctx: RunsContext, id: number, { isReached, onError, signal }: WaitOptions): Promise<RunRow | undefined> {
  signal?.throwIfAborted()
  const found = Promise.withResolvers<RunRow>()
  found.promise.catch(() => {})
  const told = (error: EngineError) => {
    const outcome = onError(error)
    const run = ctx.runCache.row(id)
    if (outcome !== "enough") found.reject(outcome)
    else if (run) found.resolve(run)
  }
  const changed = (run: RunRow) => {
    if (!isLive(run.state) || isReached(run)) found.resolve(run)
  }
  using _listening = ctx.runCache.listen(id, { changed, errored: told })
  const now = ctx.runCache.row(id) ?? (await ctx.store.runs.get(id))
  if (!now || !isLive(now.state) || isReached(now)) return now
  return await abortable(found.promise, signal)
}

export interface SettleOptions {
  /** How long a queued run is waited for. Default 30,000. */
  queuedMs?: number
  signal?: AbortSignal | undefined
}

/**
 * Resolves when the run is ready or over, or still queued after a while; also when it is `stopping`
 * and the engine does not let it be over, since its reason is known then and no more will be learnt
 * soon.
 */
export async function waitUntilSettled(ctx: RunsContext, id: number, { queuedMs = 30_000, signal }: SettleOptions): Promise<RunRow> {
  const onError = () => "enough" as const
  const run = await waitUntilDequeued(ctx, id, { queuedMs, signal })
  if (run?.state === "queued") return run
  const isReached = ({ state, reason }: RunRow) => state === "ready" || reason?.code === "engine_unreachable"
  const settledRun = await waitForRun(ctx, id, { isReached, onError, signal })
  if (!settledRun) throw new Failure("not_found", `There is no run ${id}`)
  return settledRun
}

async function waitUntilDequeued(
  ctx: RunsContext,
  id: number,
  { queuedMs, signal }: { queuedMs: number; signal: AbortSignal | undefined },
) {
  const over = new AbortController()
  const late = new AbortController()
  ctx.clock.sleep(queuedMs, over.signal).then(
    () => late.abort(),
    () => {},
  )
  const both = signal ? AbortSignal.any([signal, late.signal]) : late.signal
  try {
    return await waitForRun(ctx, id, { isReached: ({ state }) => state !== "queued", onError: () => "enough", signal: both })
  } catch (error) {
    if (!late.signal.aborted || signal?.aborted) throw error
    return ctx.runCache.row(id) ?? ctx.store.runs.get(id)
  } finally {
    over.abort()
  }
}
