import type { RunStats } from "#contract"

export type UsageSample = RunStats["series"][number]
export type PlotColumn = (number | null)[]

/** Times in seconds, and a column for each line of a plot. */
export interface PlotData {
  times: number[]
  columns: PlotColumn[]
}

/** A gap of so many steps is shown as one. */
const gapSteps = 2.5

/** The values of each line over time. The lines break where figures are missing. */
export function plotData(series: readonly UsageSample[], lines: readonly ((usage: UsageSample) => number | null)[]): PlotData {
  const times: number[] = []
  const columns: PlotColumn[] = lines.map(() => [])
  const gap = gapSteps * stepOf(series)
  for (const usage of series) {
    const time = secondsOf(usage)
    const last = times.at(-1)
    if (last !== undefined && time - last > gap) {
      times.push(last + gap / gapSteps)
      for (const column of columns) column.push(null)
    }
    times.push(time)
    for (const [i, line] of lines.entries()) columns[i]?.push(line(usage))
  }
  return { times, columns }
}

/** The shortest distance of two figures, in seconds. */
function stepOf(series: readonly UsageSample[]): number {
  let step = Number.POSITIVE_INFINITY
  for (let i = 1; i < series.length; i++) {
    const [before, after] = [series[i - 1], series[i]]
    if (before && after) step = Math.min(step, secondsOf(after) - secondsOf(before))
  }
  return step
}

function secondsOf({ Time }: UsageSample): number {
  return Date.parse(Time) / 1000
}

/**
 * Figures whose traffic is in bytes per second instead of bytes since the start. A count that falls
 * belongs to a container that was restarted: its rate is unknown.
 */
export function withRates(series: readonly UsageSample[]): UsageSample[] {
  return series.map((usage, i) => {
    const before = series[i - 1]
    const rate = (name: "NetworkIn" | "NetworkOut") => {
      const [from, to] = [before?.[name] ?? null, usage[name]]
      if (!before || from === null || to === null || to < from) return null
      return (to - from) / (secondsOf(usage) - secondsOf(before))
    }
    return { ...usage, NetworkIn: rate("NetworkIn"), NetworkOut: rate("NetworkOut") }
  })
}

/** Whether any figure of the line is known. */
export function isKnown(series: readonly UsageSample[], line: (usage: UsageSample) => number | null): boolean {
  return series.some((usage) => line(usage) !== null)
}

/** The times that people choose from: hours back from now, or all. */
export const rangeHours = { hour: 1, "6-hours": 6, day: 24, week: 168, all: Number.POSITIVE_INFINITY } as const
export type Range = keyof typeof rangeHours

/** The start of the series to ask for. A run that is over is shown up to its end. */
export function rangeStart(range: Range, run: { StartTime: string | null; EndTime: string | null }, now: Date): string | undefined {
  const end = run.EndTime === null ? now.getTime() : Date.parse(run.EndTime)
  const start = Math.max(end - rangeHours[range] * 3_600_000, run.StartTime === null ? 0 : Date.parse(run.StartTime))
  return new Date(Math.min(start, end)).toISOString()
}
