import { setImmediate as turn } from "node:timers/promises"
import { isDeepStrictEqual } from "node:util"
import type { JournalRow, RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { endQueuedRun } from "./queue.ts"

/** Beyond this number of new rows, all queued runs are checked. */
const maxNewRows = 1_000

/**
 * Checks queued runs when the journal names something that they depend on, whichever process wrote
 * it, until Quayside closes. A withdrawn right ends a run now, not when capacity becomes free.
 * Anything missed here is found when the run leaves the queue.
 */
export async function replanQueuedRuns(ctx: RunsContext): Promise<void> {
  const { clock, closed, settings, logger } = ctx
  const judged: ReplanState = { upTo: 0, ids: new Set() }
  while (!closed.aborted) {
    await replanOnce(ctx, judged).catch(
      (err: unknown) => closed.aborted || logger.warn({ err }, "the rights of queued runs were not checked"),
    )
    await clock.sleep(settings.observeEveryMs, closed).catch(() => {})
  }
}

/** The queued runs checked, and the last row of the journal read. */
interface ReplanState {
  upTo: number
  ids: ReadonlySet<number>
}

async function replanOnce(ctx: RunsContext, judged: ReplanState): Promise<void> {
  const waiting = ctx.runCache.rows().filter(({ state }) => state === "queued")
  if (waiting.length === 0) {
    judged.ids = new Set()
    return
  }
  const { first, last } = await ctx.store.events.bounds()
  const isGap = judged.upTo < first - 1 || last - judged.upTo > maxNewRows
  const news = isGap ? [] : await ctx.store.events.after(judged.upTo, maxNewRows)
  const concerns = affectedBy(news)
  const failures: unknown[] = []
  for (const run of waiting) {
    if (ctx.closed.aborted) return
    // Thousands may wait: yield to other work in between.
    await turn()
    if (isGap || !judged.ids.has(run.id) || concerns(run)) await replanQueuedRun(ctx, run).catch((error: unknown) => failures.push(error))
  }
  // A failed check does not stop the others; all are checked again.
  if (failures.length > 0) throw failures[0]
  judged.upTo = Math.max(last, news.at(-1)?.id ?? 0)
  judged.ids = new Set(waiting.map(({ id }) => id))
}

/**
 * Whether a run depends on the resource of any of these rows. A change of a person or group may
 * affect everybody.
 */
function affectedBy(news: readonly JournalRow[]): (run: RunRow) => boolean {
  const things = new Set(news.map(({ resource }) => `${resource.type} ${resource.id}`))
  if (news.some(({ resource }) => resource.type === "user" || resource.type === "group")) return () => true
  return ({ projectId, spec }) =>
    things.has(`project ${projectId}`) ||
    things.has(`image ${spec.imageId}`) ||
    spec.mounts.some(({ dataId }) => dataId !== undefined && things.has(`data ${dataId}`))
}

/** Most plans are unchanged, so only changed ones open a transaction. */
async function replanQueuedRun(ctx: RunsContext, run: RunRow): Promise<void> {
  if (!isChanged(await ctx.replan(ctx.store, run), run)) return
  await ctx.store.change(
    async (tx) => {
      const now = await tx.runs.get(run.id)
      if (now?.state !== "queued") return
      const revised = await ctx.replan(tx, now)
      if ("refusal" in revised) await endQueuedRun(ctx, tx, { id: run.id, why: revised.refusal })
      else if (isChanged(revised, now)) {
        const moved = await tx.runs.transition(run.id, ["queued"], { spec: revised.plan })
        if (moved) tx.afterCommit(() => ctx.runCache.publish(moved))
      }
    },
    { urgent: true },
  )
}

function isChanged(revised: Awaited<ReturnType<RunsContext["replan"]>>, { spec }: RunRow): boolean {
  return "refusal" in revised || !isDeepStrictEqual(revised.plan, spec)
}
