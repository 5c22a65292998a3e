import "uplot/dist/uPlot.min.css"
import { useEffect, useRef } from "react"
import uPlot from "uplot"
import { useLocale } from "../../../api/locale.ts"
import type { PlotData } from "./plot-data.ts"

export interface PlotMark {
  /** In seconds. */
  time: number
  isBad: boolean
}

/** The custom properties in which the lines are drawn, in their order. */
const lineColors = ["--accent", "--warn"] as const

interface PlotProps {
  data: PlotData
  /** A dashed line that the values may not exceed. */
  limit: number | null
  /** The axis reaches at least so far, also if all values are 0. */
  minScale: number
  format: (value: number) => string
  marks: readonly PlotMark[]
  /** The plots of one page show the same cursor. */
  syncKey: string
}

const height = 130

/** Lines over time, drawn by uPlot. Colours follow the theme at each drawing. */
export function Plot(props: PlotProps) {
  const frame = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const locale = useLocale()
  const latest = useRef({ ...props, locale })
  latest.current = { ...props, locale }
  const { data, limit } = props
  const lineCount = data.columns.length
  useEffect(() => {
    const element = frame.current
    if (!element) return undefined
    const made = new uPlot(optionsFor(element, latest, lineCount), [[]], element)
    plot.current = made
    const observer = new ResizeObserver(([entry]) => entry && made.setSize({ width: Math.floor(entry.contentRect.width), height }))
    observer.observe(element)
    const stopWatching = onThemeChange(() => made.redraw(false))
    return () => {
      stopWatching()
      observer.disconnect()
      made.destroy()
    }
  }, [lineCount])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another language draws the times again
  useEffect(() => plot.current?.setData(withLimit(data, limit)), [data, limit, locale])
  return <div ref={frame} className="plot" aria-hidden="true" />
}

/** Calls back when the system's theme or the chosen one changes. */
function onThemeChange(listener: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)")
  const chosen = new MutationObserver(listener)
  system.addEventListener("change", listener)
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] })
  return () => {
    system.removeEventListener("change", listener)
    chosen.disconnect()
  }
}

function withLimit({ times, columns }: PlotData, limit: number | null): uPlot.AlignedData {
  return [times, ...columns, times.map(() => limit)]
}

function optionsFor(
  element: HTMLElement,
  latest: { readonly current: PlotProps & { locale: string | undefined } },
  lineCount: number,
): uPlot.Options {
  const color = (name: string) => colorOf(element, name)
  const grid = { stroke: () => color("--line"), width: 1 }
  const axis = { stroke: () => color("--ink-quiet"), grid, ticks: grid, font: "11px sans-serif" }
  const lines = lineColors.slice(0, lineCount).map((name) => ({ stroke: () => color(name), width: 1.5 }))
  return {
    width: element.clientWidth,
    height,
    // The last time, with "AM" or "PM", reaches beyond the plot.
    padding: [null, 38, null, null],
    legend: { show: false },
    cursor: { sync: { key: latest.current.syncKey }, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { range: timeRange },
      y: { range: (_plot, _min, max) => [0, Math.max(max, latest.current.limit ?? 0, latest.current.minScale) * 1.1] },
    },
    axes: [
      { ...axis, space: 90, values: (_plot, times) => timeLabels(times, latest.current.locale) },
      { ...axis, size: 64, splits: evenSplits, values: (_plot, values) => values.map((value) => latest.current.format(value)) },
    ],
    series: [{}, ...lines, { stroke: () => color("--line-strong"), dash: [4, 4], width: 1, points: { show: false } }],
    hooks: { draw: [(made) => drawMarks(made, latest.current.marks, color)] },
  }
}

const secondsPerHour = 3_600

/** Times in seconds, as exact as their distance needs. */
function timeLabels(times: readonly number[], locale: string | undefined): string[] {
  const [first = 0, second = 0] = times
  const format = new Intl.DateTimeFormat(locale, exactnessFor(second - first))
  return times.map((time) => format.format(time * 1_000))
}

function exactnessFor(distance: number): Intl.DateTimeFormatOptions {
  if (distance >= 24 * secondsPerHour) return { dateStyle: "short" }
  if (distance >= 3 * secondsPerHour) return { weekday: "short", hour: "numeric", minute: "numeric" }
  return { timeStyle: distance < 60 ? "medium" : "short" }
}

/** At least a minute: uPlot itself would draw years around a single value. */
function timeRange({ data: [times] }: uPlot): [number, number] {
  const end = times.at(-1) ?? Date.now() / 1000
  return [Math.min(times[0] ?? end, end - 60), end]
}

/** Four lines: amounts of memory have no round decimal steps. */
function evenSplits(_plot: uPlot, _axis: number, min: number, max: number): number[] {
  return [0, 1, 2, 3].map((i) => min + ((max - min) / 1.1) * (i / 3))
}

function drawMarks(plot: uPlot, marks: readonly PlotMark[], color: (name: string) => string): void {
  const { ctx, bbox } = plot
  ctx.save()
  for (const { time, isBad } of marks) {
    const x = Math.round(plot.valToPos(time, "x", true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.fillStyle = color(isBad ? "--bad" : "--warn")
    ctx.fillRect(x, bbox.top, 2, bbox.height)
  }
  ctx.restore()
}

/** The colour of a custom property as it is now; a canvas knows no custom properties. */
function colorOf(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`
  return getComputedStyle(element).color
}
