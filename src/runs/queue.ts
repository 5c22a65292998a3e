import type { Limits } from "#contract"
import type { Reads, RunRow } from "#store"
import { schedule } from "./admission.ts"
import type { Capacity } from "./capacity.ts"
import type { Context } from "./context.ts"
import { boundsOf } from "./limits.ts"
import { moveIn } from "./moves.ts"

/** From 1; null when the run does not wait. */
export function queuePosition(rows: readonly RunRow[], id: number): number | null {
  const at = rows.filter(({ state }) => state === "queued").findIndex((run) => run.id === id)
  return at < 0 ? null : at + 1
}

/** Lets queued runs go as far as there is room, in one transaction. */
export async function serveQueue(ctx: Context, capacity: Capacity, takenDevices: ReadonlySet<string>): Promise<void> {
  if (!ctx.board.rows().some(({ state }) => state === "queued")) return
  const nodes = await capacity.nodes()
  const placing = async (reads: Pick<Reads, "users" | "groups">, live: readonly RunRow[]) => {
    const waiting = live.filter(({ state }) => state === "queued")
    const bounds = await boundsOf(
      reads,
      waiting.map(({ userId }) => userId),
    )
    return { placements: schedule({ nodes, live, takenDevices, caps: bounds.caps }), limits: bounds.limits, waiting }
  }
  if ((await placing(ctx.store, ctx.board.rows())).placements.size === 0) return
  await ctx.store.change(async (tx) => {
    const { placements, limits, waiting } = await placing(tx, await tx.runs.live())
    for (const { id, userId } of waiting) {
      const placement = placements.get(id)
      if (placement)
        await moveIn(ctx, tx, { id, path: ["pulling"], fields: { ...placement, ...times(limits.get(userId), ctx.clock.now()) } })
    }
  })
}

/** When a run left the queue, and when its longest time will be over. */
export function times(limits: Limits | undefined, startTime: number): Pick<RunRow, "startTime" | "expiresAt"> {
  const hours = limits?.MaxRunHours ?? null
  return { startTime, expiresAt: hours === null ? null : startTime + hours * 3_600_000 }
}
