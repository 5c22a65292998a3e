import { setImmediate as yieldToOthers } from "node:timers/promises"
import { isDeepStrictEqual } from "node:util"
import type { JournalRow, RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { endQueuedRun } from "./queue.ts"

/** A check reads nothing while no run is queued. */
const intervalMs = 1_000
/** Beyond this number of new rows, all queued runs are checked. */
const maxNewRows = 1_000

/**
 * Checks queued runs when the journal names something that they depend on, whichever process wrote
 * it, until Quayside closes. A withdrawn right ends a run now, not when capacity becomes free.
 * Anything missed here is found when the run leaves the queue.
 */
export async function replanQueuedRuns(ctx: RunsContext): Promise<void> {
  const { clock, closed, logger } = ctx
  const state: ReplanState = { upTo: 0, ids: new Set() }
  while (!closed.aborted) {
    await replanOnce(ctx, state).catch(
      (err: unknown) => closed.aborted || logger.warn({ err }, "the rights of queued runs were not checked"),
    )
    await clock.sleep(intervalMs, closed).catch(() => {})
  }
}

/** The queued runs checked, and the last row of the journal read. */
interface ReplanState {
  upTo: number
  ids: ReadonlySet<number>
}

async function replanOnce(ctx: RunsContext, state: ReplanState): Promise<void> {
  const queued = ctx.runCache.rows().filter(({ state }) => state === "queued")
  if (queued.length === 0) {
    state.ids = new Set()
    return
  }
  const { first, last } = await ctx.store.events.bounds()
  const isGap = state.upTo < first - 1 || last - state.upTo > maxNewRows
  const rows = isGap ? [] : await ctx.store.events.after(state.upTo, maxNewRows)
  const isAffected = affectedBy(rows)
  const failures: unknown[] = []
  for (const run of queued) {
    if (ctx.closed.aborted) return
    // Thousands may wait: yield to other work in between.
    await yieldToOthers()
    if (isGap || !state.ids.has(run.id) || isAffected(run)) await replanQueuedRun(ctx, run).catch((error: unknown) => failures.push(error))
  }
  // A failed check does not stop the others; all are checked again.
  if (failures.length > 0) throw failures[0]
  state.upTo = Math.max(last, rows.at(-1)?.id ?? 0)
  state.ids = new Set(queued.map(({ id }) => id))
}

/**
 * Whether a run depends on the resource of any of these rows. A change of a person or group may
 * affect everybody.
 */
function affectedBy(rows: readonly JournalRow[]): (run: RunRow) => boolean {
  const changed = new Set(rows.map(({ resource }) => `${resource.type} ${resource.id}`))
  if (rows.some(({ resource }) => resource.type === "user" || resource.type === "group")) return () => true
  return ({ projectId, spec }) =>
    changed.has(`project ${projectId}`) ||
    changed.has(`image ${spec.imageId}`) ||
    spec.mounts.some(({ dataId }) => dataId !== undefined && changed.has(`data ${dataId}`))
}

/** Most plans are unchanged, so only changed ones open a transaction. */
async function replanQueuedRun(ctx: RunsContext, run: RunRow): Promise<void> {
  if (!isChanged(await ctx.replan(ctx.store, run), run)) return
  await ctx.change(
    async (tx) => {
      const current = await tx.runs.get(run.id)
      if (current?.state !== "queued") return
      const replanned = await ctx.replan(tx, current)
      if ("refusal" in replanned) await endQueuedRun(ctx, tx, { id: run.id, reason: replanned.refusal })
      else if (isChanged(replanned, current)) {
        const updated = await tx.runs.transition(run.id, ["queued"], { spec: replanned.plan })
        if (updated) tx.afterCommit(() => ctx.runCache.publish(updated))
      }
    },
    { urgent: true },
  )
}

function isChanged(replanned: Awaited<ReturnType<RunsContext["replan"]>>, { spec }: RunRow): boolean {
  return "refusal" in replanned || !isDeepStrictEqual(replanned.plan, spec)
}
