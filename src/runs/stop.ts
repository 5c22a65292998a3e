import { Failure, isLive, type Reason } from "#contract"
import { EngineError } from "#engine"
import type { Actor } from "#events"
import type { Change, RunRow } from "#store"
import type { Context } from "./context.ts"
import { stopThoughFull } from "./ending.ts"
import { moveIn, type Wish } from "./moves.ts"
import { endQueued } from "./queue.ts"
import { reason } from "./reasons.ts"
import type { Supervisor } from "./supervisor.ts"
import { waitFor } from "./waits.ts"

export interface StopOptions {
  by: Wish
  /** Who asked, for the audit. */
  actor?: Actor | undefined
  signal?: AbortSignal | undefined
}

export interface StopParts {
  ctx: Context
  supervisor: Pick<Supervisor, "nudge">
}

/** As `Runs.stop`. */
export async function stop({ ctx, supervisor }: StopParts, id: number, { by, actor, signal }: StopOptions): Promise<RunRow | undefined> {
  const run = await writeStop(ctx, id, { by, actor })
  if (!run || !isLive(run.state)) return run
  supervisor.nudge(id)
  return waitFor(ctx, id, { until: () => false, trouble: stopFailure, signal })
}

/** The starter's own sentence is for the starter. */
function wishOf({ userName }: RunRow, by: Wish, actor: Actor | undefined): Reason {
  const other = by === "stopped_by_user" && actor !== undefined && actor.userName !== userName
  if (other) return reason(by, `${actor.userName}, who was given the right to, stopped the run`)
  return by === "stopped_by_user" && actor ? reason(by, "The person who started the run stopped it") : reason(by)
}

async function writeStop(ctx: Context, id: number, { by, actor }: Pick<StopOptions, "by" | "actor">): Promise<RunRow | undefined> {
  const work = async (tx: Change) => {
    const now = await tx.runs.get(id)
    if (!now || !isLive(now.state)) return now
    if (actor) await ctx.events.asked(tx, { actor, verb: "stop", run: now })
    const why = wishOf(now, by, actor)
    if (now.state === "queued") return endQueued(ctx, tx, { id, why })
    return (await moveIn(ctx, tx, { id, path: ["stopping"], fields: { wanted: "stop", reason: why } })) ?? now
  }
  const write = () => ctx.store.change(work, { urgent: true })
  const run = ctx.board.row(id)
  if (!run || run.state === "queued") return write()
  return stopThoughFull(ctx, run, { wish: { reason: wishOf(run, by, actor), actor }, write }).catch((error: unknown) => {
    throw error instanceof EngineError ? stopFailure(error) : error
  })
}

function stopFailure(error: EngineError): Failure {
  const known = error.code === "engine_unreachable" || error.code === "timeout_stopping"
  const msg = `${error.message}; the run is stopped as soon as possible`
  return new Failure(known ? error.code : "engine_error", msg, { status: 503, cause: error })
}
