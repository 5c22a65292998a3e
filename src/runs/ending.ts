import { type Reason, type RunState, reasonSentences } from "#contract"
import { EngineError } from "#engine"
import type { RunRow } from "#store"
import type { Context, StopWish } from "./context.ts"
import { LastWords } from "./logs.ts"
import { endStateOf, move, moveIn } from "./moves.ts"
import { withLogTail } from "./reasons.ts"

/** Nothing of the run is in the engine: it is over at once. */
export async function fail(ctx: Context, run: RunRow, why: Reason): Promise<void> {
  await end(ctx, run, { path: ["failed"], why, endTime: ctx.clock.now() })
}

/** The engine may hold something of the run: it is over when the engine holds nothing any more. */
export async function stopBecause(ctx: Context, run: RunRow, why: Reason): Promise<void> {
  const silent = why.code === "lost" || why.code === "engine_unreachable"
  const told = silent ? why : await withLogTail(ctx.engine, run.key, why)
  await end(ctx, run, { path: ["stopping"], why: told })
}

/** A stop that the database could not take before is the first cause: that the engine no longer has the run follows from it. */
async function end(
  ctx: Context,
  run: RunRow,
  { path, why, ...fields }: { path: RunState[]; why: Reason; endTime?: number },
): Promise<void> {
  const wish = ctx.wished.get(run.id)
  const step = { path, fields: { wanted: "stop" as const, reason: wish?.reason ?? why, ...fields } }
  if (!wish) return void (await move(ctx, run.id, step))
  await ctx.store.change(
    async (tx) => {
      const moved = await moveIn(ctx, tx, { id: run.id, ...step })
      if (moved && wish.actor) await ctx.events.asked(tx, { actor: wish.actor, verb: "stop", run: moved })
      tx.afterCommit(() => ctx.wished.delete(run.id))
    },
    { urgent: true },
  )
}

/**
 * Ends the run in the engine although the database cannot take the wish now, as on a full disk: with its container often goes what fills it. The wish is kept in memory for whoever writes next that
 * the run is over; a process that dies before leaves a run that is `lost`. Rejects when the engine could not do it.
 */
export async function stopUnwritten(ctx: Context, run: RunRow, wish: StopWish): Promise<void> {
  ctx.wished.set(run.id, wish)
  try {
    await stopEngine(ctx, run)
  } catch (error) {
    ctx.wished.delete(run.id)
    throw asEngineError(error)
  }
}

/** Makes the engine hold nothing of the run and says that it is over. Rejects when the engine could not do it; whoever waits for the run is told. */
export async function tearDown(ctx: Context, run: RunRow): Promise<void> {
  const lastWords = new LastWords(ctx, run.key)
  try {
    await stopEngine(ctx, run)
  } catch (error) {
    lastWords.discard()
    if (!ctx.closed.aborted) ctx.board.trouble(run.id, asEngineError(error))
    throw error
  }
  await lastWords.keep()
  await move(ctx, run.id, { path: [endStateOf(run)], fields: { endTime: ctx.clock.now() } })
}

async function stopEngine({ engine, settings, clock, closed }: Context, run: RunRow): Promise<void> {
  const { graceMs, timeouts } = settings
  const late = new AbortController()
  const over = new AbortController()
  const limit = clock.sleep(graceMs + timeouts.stopping, over.signal)
  limit.then(() => late.abort(new EngineError("timeout_stopping", reasonSentences.timeout_stopping))).catch(() => {})
  try {
    await engine.stop(run.key, { graceMs, signal: AbortSignal.any([late.signal, closed]) })
  } finally {
    over.abort()
  }
}

function asEngineError(error: unknown): EngineError {
  return error instanceof EngineError ? error : new EngineError("engine_error", reasonSentences.engine_error, { cause: error })
}
