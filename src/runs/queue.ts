import type { EffectiveLimits } from "#contract"
import type { LiveRun, Reads, RunRow } from "#store"
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
      if (placement)
        await moveIn(ctx, tx, { id, path: ["pulling"], fields: { ...placement, ...times(limits.get(userId), ctx.clock.now()) } })
    }
  })
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
