import { Failure, isLive } from "#contract"
import type { EngineError } from "#engine"
import { abortable } from "#kit"
import type { RunRow } from "#store"
import type { Context } from "./context.ts"

export interface Wait {
  /** Whether the run is as one waits for it to be. */
  until(run: RunRow): boolean
  /**
   * A step that the run waits for failed and will be tried again: a failure ends the wait with it,
   * `enough` with the run as it stands.
   */
  trouble(error: EngineError): Failure | "enough"
  signal?: AbortSignal | undefined
}

/**
 * Resolves with the run once it is as wanted, at the latest when it is over. Undefined when there
 * is no such run. Rejects with the signal's reason.
 */
export async function waitFor(ctx: Context, id: number, { until, trouble, signal }: Wait): Promise<RunRow | undefined> {
  signal?.throwIfAborted()
  const found = Promise.withResolvers<RunRow>()
  found.promise.catch(() => {})
  const told = (error: EngineError) => {
    const outcome = trouble(error)
    const run = ctx.board.row(id)
    if (outcome !== "enough") found.reject(outcome)
    else if (run) found.resolve(run)
  }
  const changed = (run: RunRow) => {
    if (!isLive(run.state) || until(run)) found.resolve(run)
  }
  using _listening = ctx.board.listen(id, { changed, trouble: told })
  const now = ctx.board.row(id) ?? (await ctx.store.runs.get(id))
  if (!now || !isLive(now.state) || until(now)) return now
  return await abortable(found.promise, signal)
}

export interface Settling {
  /** How long a queued run is waited for. Default 30,000. */
  queuedMs?: number
  signal?: AbortSignal | undefined
}

/**
 * Resolves when the run is ready or over, or still queued after a while; also when it is `stopping`
 * and the engine does not let it be over, since its reason is known then and no more will be learnt
 * soon.
 */
export async function settled(ctx: Context, id: number, { queuedMs = 30_000, signal }: Settling): Promise<RunRow> {
  const trouble = () => "enough" as const
  const run = await outOfQueue(ctx, id, { queuedMs, signal })
  if (run?.state === "queued") return run
  const until = ({ state, reason }: RunRow) => state === "ready" || reason?.code === "engine_unreachable"
  const settledRun = await waitFor(ctx, id, { until, trouble, signal })
  if (!settledRun) throw new Failure("not_found", `There is no run ${id}`)
  return settledRun
}

async function outOfQueue(ctx: Context, id: number, { queuedMs, signal }: { queuedMs: number; signal: AbortSignal | undefined }) {
  const over = new AbortController()
  const late = new AbortController()
  ctx.clock.sleep(queuedMs, over.signal).then(
    () => late.abort(),
    () => {},
  )
  const both = signal ? AbortSignal.any([signal, late.signal]) : late.signal
  try {
    return await waitFor(ctx, id, { until: ({ state }) => state !== "queued", trouble: () => "enough", signal: both })
  } catch (error) {
    if (!late.signal.aborted || signal?.aborted) throw error
    return ctx.board.row(id) ?? ctx.store.runs.get(id)
  } finally {
    over.abort()
  }
}
