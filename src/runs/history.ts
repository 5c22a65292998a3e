import type { Context } from "./context.ts"
import { removeLogs } from "./logs.ts"

const dayMs = 24 * 3_600_000
/** Runs are removed so many at a time, and other changes have the writer in between. */
const step = 200
const pauseMs = 50

/**
 * Removes ended runs that are too old, and those that a person has too many of, until Quayside
 * closes.
 */
export async function pruneHistory(ctx: Context): Promise<void> {
  const { clock, closed, logger, settings } = ctx
  const pause = (ms: number) => clock.sleep(ms, closed).catch(() => {})
  while (!closed.aborted) {
    await pause(settings.historyEvery)
    if (closed.aborted) return
    await prune(ctx, () => pause(pauseMs)).catch((err: unknown) => {
      if (!closed.aborted) logger.warn({ err }, "the history of runs was not pruned; it is tried again")
    })
  }
}

async function prune(ctx: Context, pause: () => Promise<void>): Promise<void> {
  const { clock, closed, settings, store } = ctx
  const until = clock.now() - settings.historyDays * dayMs
  while (!closed.aborted && (await trim(ctx, { until }, step)) === step) await pause()
  for (const { userId, count } of await store.runs.longHistories(settings.historyRuns)) {
    for (let left = count - settings.historyRuns; left > 0 && !closed.aborted; left -= step) {
      await trim(ctx, { userId }, Math.min(left, step))
      await pause()
    }
  }
}

/** The output goes after COMMIT; what a crash leaves of it goes by its age. */
async function trim(ctx: Context, which: { userId: number } | { until: number }, limit: number): Promise<number> {
  const runs = await ctx.store.change((tx) => tx.runs.trim(which, limit))
  await removeLogs(ctx, runs)
  return runs.length
}
