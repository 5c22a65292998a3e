import type { RunRow } from "#store"
import { schedule } from "./admission.ts"
import type { Capacity } from "./capacity.ts"
import type { Context } from "./context.ts"
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
  if (schedule({ nodes, live: ctx.board.rows(), takenDevices }).size === 0) return
  await ctx.store.change(async (tx) => {
    const placements = schedule({ nodes, live: await tx.runs.live(), takenDevices })
    for (const [id, placement] of placements) {
      await moveIn(ctx, tx, { id, path: ["pulling"], fields: { ...placement, startTime: ctx.clock.now() } })
    }
  })
}
