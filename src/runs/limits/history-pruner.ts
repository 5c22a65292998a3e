import type { RunsContext } from "../context.ts"
import { removeLogs } from "../logs/logs.ts"

const dayMs = 24 * 3_600_000
/** Runs removed in one transaction; other changes proceed between the batches. */
const batchSize = 200
const pauseMs = 50

/** Removes ended runs beyond the maximum age and number until Quayside closes. */
export async function pruneHistory(ctx: RunsContext): Promise<void> {
  const { clock, closed, logger, settings } = ctx
  const pause = (ms: number) => clock.sleep(ms, closed).catch(() => {})
  while (!closed.aborted) {
    await pause(settings.historyEveryMs)
    if (closed.aborted) return
    await pruneOnce(ctx, () => pause(pauseMs)).catch((err: unknown) => {
      if (!closed.aborted) logger.warn({ err }, "the history of runs was not pruned; it is tried again")
    })
  }
}

async function pruneOnce(ctx: RunsContext, pause: () => Promise<void>): Promise<void> {
  const { clock, closed, settings, store } = ctx
  const until = clock.now() - settings.maxEndedDays * dayMs
  while (!closed.aborted && (await deleteEndedRuns(ctx, { until }, batchSize)) === batchSize) await pause()
  for (const { userId, count } of await store.runs.longHistories(settings.maxEndedRuns)) {
    for (let left = count - settings.maxEndedRuns; left > 0 && !closed.aborted; left -= batchSize) {
      await deleteEndedRuns(ctx, { userId }, Math.min(left, batchSize))
      await pause()
    }
  }
}

/** Output and usage are removed after COMMIT; what a crash leaves is removed by age. */
async function deleteEndedRuns(ctx: RunsContext, which: { userId: number } | { until: number }, limit: number): Promise<number> {
  const runs = await ctx.change((tx) => tx.runs.prune(which, limit))
  await removeLogs(ctx, runs)
  await ctx.usageStore.remove(runs)
  return runs.length
}
