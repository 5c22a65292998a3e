import type { EffectiveLimits, Reason } from "#contract"
import type { Change, LiveRun, Reads, RunRow } from "#store"
import { schedule } from "./admission.ts"
import type { Board } from "./board.ts"
import type { Capacity } from "./capacity.ts"
import type { Context } from "./context.ts"
import { boundsOf } from "./limits.ts"
import { moveIn } from "./moves.ts"
import { inTurn, type Waiting } from "./turns.ts"

/** Lets queued runs go as far as there is room, in one transaction. */
export async function serveQueue(ctx: Context, capacity: Capacity, takenDevices: ReadonlySet<string>): Promise<void> {
  if (!ctx.board.rows().some(({ state }) => state === "queued")) return
  const nodes = await capacity.nodes()
  const placing = async (reads: Pick<Reads, "users" | "groups">, held: readonly LiveRun[], queued: readonly LiveRun[]) => {
    const waiting = inTurn(queued, ctx.board.turns)
    const { caps, limits } = await boundsOf(
      reads,
      waiting.map(({ userId }) => userId),
      ctx.settings.defaultLimits,
    )
    return { placements: schedule({ nodes, live: [...held, ...waiting], takenDevices, caps }), limits, waiting }
  }
  const rows = ctx.board.rows()
  const isQueued = ({ state }: RunRow) => state === "queued"
  const likely = await placing(
    ctx.store,
    rows.filter((run) => !isQueued(run)),
    rows.filter(isQueued),
  )
  if (likely.placements.size === 0) return
  await ctx.store.change(async (tx) => {
    const { placements, limits, waiting } = await placing(tx, await tx.runs.held(), await tx.runs.queued())
    for (const { id, userId } of waiting) {
      const placement = placements.get(id)
      if (placement) await letGo(ctx, tx, { id, fields: { ...placement, ...times(limits.get(userId), ctx.clock.now()) } })
    }
  })
}

/**
 * The plan of a run that waited was made when it was asked for: it goes by one that is made now, in
 * the transaction that lets it go, or it ends.
 */
async function letGo(ctx: Context, tx: Change, { id, fields }: { id: number; fields: Partial<RunRow> }): Promise<void> {
  const run = await tx.runs.get(id)
  if (!run) return
  const revised = await ctx.revise(tx, run)
  if ("refusal" in revised) await endQueued(ctx, tx, { id, why: revised.refusal })
  else await moveIn(ctx, tx, { id, path: ["pulling"], fields: { ...fields, spec: revised.plan } })
}

/** The engine was never asked for it, so that it is over at once. */
export async function endQueued(ctx: Context, tx: Change, { id, why }: { id: number; why: Reason }): Promise<RunRow | undefined> {
  await moveIn(ctx, tx, { id, path: ["stopping"], fields: { wanted: "stop", reason: why } })
  return moveIn(ctx, tx, { id, path: ["ended"], fields: { endTime: ctx.clock.now() } })
}

/** When a run left the queue, and when its longest time will be over. */
export function times(limits: EffectiveLimits | undefined, startTime: number): Pick<RunRow, "startTime" | "expiresAt"> {
  const hours = limits?.MaxRunHours ?? null
  return { startTime, expiresAt: hours === null ? null : startTime + hours * 3_600_000 }
}

/** Where a run would stand that somebody asked for now, from 1. */
export function positionOfNew(board: Board, userId: number, now: number): number {
  const joining: Waiting = { id: Number.POSITIVE_INFINITY, userId, createdAt: now }
  return board.queue(joining).indexOf(joining) + 1
}
