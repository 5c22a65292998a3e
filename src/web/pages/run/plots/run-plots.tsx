import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import { isLive, type RunningProject, type RunStats } from "#contract"
import { formatBytes, formatCpus, formatMemory } from "../../../api/formats.ts"
import { callOperation, sampleIntervalMs } from "../../../api/queries.ts"
import { Loaded } from "../../../components/feedback.tsx"
import { Select } from "../../../components/fields.tsx"
import { Section } from "../../../components/page.tsx"
import { RelativeTime } from "../../../components/values.tsx"
import { texts } from "../../../text/index.ts"
import { Plot, type PlotMark } from "./plot.tsx"
import { isKnown, plotData, type Range, rangeHours, rangeStart, type UsageSample, withRates } from "./plot-data.ts"
import "./plots.css"

const { plots } = texts.run

interface Figure {
  title: string
  lines: readonly { name: string; value: (usage: UsageSample) => number | null }[]
  limit: (run: RunningProject, latest: UsageSample | undefined) => number | null
  format: (value: number) => string
  minScale?: number
}

const figures: readonly Figure[] = [
  { title: texts.run.cpu, lines: [{ name: plots.used, value: ({ Cpus }) => Cpus }], limit: ({ Cpus }) => Cpus, format: formatCpus },
  {
    title: texts.run.memory,
    lines: [
      { name: plots.used, value: ({ Memory }) => Memory },
      { name: plots.peak, value: ({ MemoryPeak }) => MemoryPeak },
    ],
    limit: (_run, latest) => latest?.MemoryLimit ?? null,
    format: (value) => formatMemory(value),
  },
  {
    title: texts.run.gpus,
    lines: [{ name: plots.busy, value: ({ GpuBusy }) => GpuBusy }],
    limit: () => 1,
    format: (value) => `${Math.round(value * 100)} %`,
  },
  {
    title: plots.gpuMemory,
    lines: [{ name: plots.used, value: ({ GpuMemory }) => GpuMemory }],
    limit: () => null,
    format: (value) => formatMemory(value),
  },
  {
    title: texts.run.network,
    lines: [
      { name: plots.in, value: ({ NetworkIn }) => NetworkIn },
      { name: plots.out, value: ({ NetworkOut }) => NetworkOut },
    ],
    limit: () => null,
    format: (value) => `${formatBytes(value)}/s`,
    minScale: 1_024,
  },
  {
    title: texts.run.disk,
    lines: [{ name: plots.written, value: ({ Disk }) => Disk }],
    limit: () => null,
    format: (value) => formatMemory(value),
  },
]

/** The use of resources over time, live and after the end, with marks for what happened. */
export function RunPlots({ run }: { run: RunningProject }) {
  const [range, setRange] = useState<Range>("hour")
  const stats = useQuery({
    queryKey: ["runStats", { query: { ID: run.ID } }, range],
    queryFn: ({ signal }) => {
      const From = rangeStart(range, run, new Date())
      return callOperation("runStats", { query: { ID: run.ID, ...(From === undefined ? {} : { From }) }, signal })
    },
    refetchInterval: isLive(run.State) ? sampleIntervalMs : false,
    placeholderData: keepPreviousData,
  })
  const options = (Object.keys(rangeHours) as Range[]).map((value) => ({ value, label: plots.ranges[value] }))
  return (
    <Section
      title={plots.title}
      actions={
        <div className="plot-range">
          <Select label={plots.range} value={range} onValue={setRange} options={options} />
        </div>
      }
    >
      <Loaded query={stats} height={10}>
        {(data) => (data.series.length === 0 ? <p className="quiet">{plots.empty}</p> : <FigureGrid run={run} stats={data} />)}
      </Loaded>
    </Section>
  )
}

function FigureGrid({ run, stats }: { run: RunningProject; stats: RunStats }) {
  const series = useMemo(() => withRates(stats.series), [stats])
  const marks = useMemo(
    (): PlotMark[] => stats.marks.map(({ Time: time, Kind }) => ({ time: Date.parse(time) / 1000, isBad: Kind === "out_of_memory" })),
    [stats],
  )
  const shown = figures.filter(({ lines }) => lines.some(({ value }) => isKnown(series, value)))
  return (
    <>
      <div className="plot-grid">
        {shown.map((figure) => (
          <FigureView key={figure.title} figure={figure} run={run} series={series} marks={marks} />
        ))}
      </div>
      {stats.marks.length > 0 && (
        <ul className="plot-marks" aria-label={plots.marks}>
          {stats.marks.map(({ Time: time, Kind, Text }) => (
            <li key={`${time} ${Kind} ${Text}`} className="small" data-kind={Kind}>
              <span className="quiet">
                <RelativeTime value={time} />
              </span>{" "}
              {Text}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

interface FigureViewProps {
  figure: Figure
  run: RunningProject
  series: readonly UsageSample[]
  marks: readonly PlotMark[]
}

function FigureView({ figure, run, series, marks }: FigureViewProps) {
  const { title, lines, limit, format, minScale = 0.1 } = figure
  const data = useMemo(
    () =>
      plotData(
        series,
        lines.map(({ value }) => value),
      ),
    [series, lines],
  )
  const latest = series.at(-1)
  return (
    <figure className="plot-figure">
      <figcaption className="row">
        <strong>{title}</strong>
        {lines.map(({ name, value }, i) => {
          const now = latest ? value(latest) : null
          return (
            <span key={name} className="plot-key quiet small" data-line={i}>
              {now === null ? name : `${name} ${format(now)}`}
            </span>
          )
        })}
      </figcaption>
      <Plot data={data} limit={limit(run, latest)} minScale={minScale} format={format} marks={marks} syncKey={`run ${run.ID}`} />
    </figure>
  )
}
