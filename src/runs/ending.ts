import { type Reason, reasonSentences } from "#contract"
import { EngineError } from "#engine"
import type { RunRow } from "#store"
import type { Context } from "./context.ts"
import { LastWords } from "./logs.ts"
import { endStateOf, move } from "./moves.ts"
import { withLogTail } from "./reasons.ts"

/** Nothing of the run is in the engine: it is over at once. */
export async function fail(ctx: Context, run: RunRow, why: Reason): Promise<void> {
  await move(ctx, run.id, { path: ["failed"], fields: { wanted: "stop", reason: why, endTime: ctx.clock.now() } })
}

/** The engine may hold something of the run: it is over when the engine holds nothing any more. */
export async function stopBecause(ctx: Context, run: RunRow, why: Reason): Promise<void> {
  const silent = why.code === "lost" || why.code === "engine_unreachable"
  const told = silent ? why : await withLogTail(ctx.engine, run.key, why)
  await move(ctx, run.id, { path: ["stopping"], fields: { wanted: "stop", reason: told } })
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
