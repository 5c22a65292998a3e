import { isLive } from "#contract"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import type { Mark } from "./marks.ts"
import type { UsageRange } from "./usage-file.ts"
import type { UsagePoint } from "./usage-sample.ts"

const dayMs = 24 * 3_600_000

/** The usage of a run over time, oldest first. */
export interface RunUsage {
  points: UsagePoint[]
  marks: Mark[]
}

/** The stored usage, with a mark for the run's end. */
export async function readRunUsage({ usageStore }: RunsContext, run: RunRow, range: UsageRange, readerId: number): Promise<RunUsage> {
  const { points, marks } = await usageStore.read(run, range, readerId)
  const end = endMarkOf(run)
  return { points, marks: end && end.time >= range.from && end.time <= range.to ? [...marks, end] : marks }
}

/** From the row, which a crash cannot separate from the end. */
function endMarkOf({ state, endTime, reason }: RunRow): Mark | undefined {
  if (isLive(state) || endTime === null) return undefined
  return { time: endTime, kind: reason?.code === "oom_killed" ? "out_of_memory" : "exit", text: reason?.msg ?? "The run ended" }
}

/** Removes files that are older than the history, now and once a day, until Quayside closes. */
export async function pruneUsage({ clock, closed, logger, settings, usageStore }: RunsContext): Promise<void> {
  while (settings.usageDir !== undefined && !closed.aborted) {
    await usageStore
      .removeOld(clock.now() - settings.maxEndedDays * dayMs)
      .catch((err: unknown) => logger.warn({ err }, "the old usage of runs was not removed"))
    await clock.sleep(dayMs, closed).catch(() => {})
  }
}
