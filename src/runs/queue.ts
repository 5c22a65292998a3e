import type { Limits, Reason } from "#contract"
import type { Change, Reads, RunRow } from "#store"
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
    for (const run of waiting) {
      const placement = placements.get(run.id)
      if (placement) await letGo(ctx, tx, { run, fields: { ...placement, ...times(limits.get(run.userId), ctx.clock.now()) } })
    }
  })
}

/** The plan of a run that waited was made when it was asked for: it goes by one that is made now, in the transaction that lets it go, or it ends. */
async function letGo(ctx: Context, tx: Change, { run, fields }: { run: RunRow; fields: Partial<RunRow> }): Promise<unknown> {
  const revised = await ctx.revise(tx, run)
  if ("refusal" in revised) return endQueued(ctx, tx, { id: run.id, why: revised.refusal })
  return moveIn(ctx, tx, { id: run.id, path: ["pulling"], fields: { ...fields, spec: revised.plan } })
}

/** The engine was never asked for it, so that it is over at once. */
export async function endQueued(ctx: Context, tx: Change, { id, why }: { id: number; why: Reason }): Promise<RunRow | undefined> {
  await moveIn(ctx, tx, { id, path: ["stopping"], fields: { wanted: "stop", reason: why } })
  return moveIn(ctx, tx, { id, path: ["ended"], fields: { endTime: ctx.clock.now() } })
}

/** When a run left the queue, and when its longest time will be over. */
export function times(limits: Limits | undefined, startTime: number): Pick<RunRow, "startTime" | "expiresAt"> {
  const hours = limits?.MaxRunHours ?? null
  return { startTime, expiresAt: hours === null ? null : startTime + hours * 3_600_000 }
}
