import { bounds, Failure, isLive } from "#contract"
import { maxRangeMs, minStepMs, type UsagePoint, type UsageRange, type UsageSample } from "#runs"
import type { RunRow } from "#store"
import type { HandlerResult, Handlers, OperationContext, Services } from "../../context.ts"
import { etagOf } from "../../http/etag.ts"
import { toTimestamp } from "../../responses/lists.ts"
import { toRunResponse } from "../../responses/runs.ts"
import { fromBytes, fromMiB } from "../../units.ts"
import { changeOf } from "../../with-change.ts"
import { loadAuthorizedRun, rightInChange } from "./runs.ts"

const hourMs = 3_600_000
const minuteMs = 60_000
const maxPoints = bounds.runs.usagePoints.value

/** The usage of a run now and over time. Unknown values are null. */
async function readStats(context: OperationContext<"runStats">): Promise<HandlerResult<"runStats">> {
  const { services, query, caller, server } = context
  const run = await loadAuthorizedRun(context, "run:stats")
  const { runs, clock, settings } = services
  const last = (await runs.usageSamples(run.id)).at(-1)
  const range = rangeOf(query, Math.min(clock.now(), run.endTime ?? Number.POSITIVE_INFINITY))
  const { points, marks } = await server.usageReads.run(caller.userId, () => runs.usage(run, range, caller.userId))
  const memoryLimit = run.memoryMiB * 2 ** 20
  return {
    now: last ? toUsageResponse(settings, { ...last, maxMemory: last.memory }) : toUnknownUsage(services, run),
    series: points.map((point) => toUsageResponse(settings, { ...point, memoryLimit })),
    marks: marks.map(({ time, kind, text }) => ({ Time: toTimestamp(time), Kind: kind, Text: text })),
  }
}

/** `end`: nothing of the run is newer. */
function rangeOf({ From, To, Step }: { From?: number; To?: number; Step?: number }, end: number): UsageRange {
  if (From !== undefined && To !== undefined && From >= To)
    throw new Failure("invalid", `From must be before To; got ${toTimestamp(From)} and ${toTimestamp(To)}`, { field: "From" })
  const to = Math.min(To ?? end, end)
  const from = Math.max(From ?? to - hourMs, to - maxRangeMs)
  const shortest = shortestStepMs({ from, to })
  if (Step !== undefined && Step * 1_000 < shortest)
    throw new Failure(
      "invalid",
      `Step must be at least ${shortest / 1_000} s for this time, as an answer has at most ${maxPoints} points; got ${Step}`,
      { field: "Step" },
    )
  return { from, to, stepMs: Step === undefined ? shortest : Step * 1_000 }
}

/** Of at most `maxPoints`. Beyond a minute it is a number of minutes. */
function shortestStepMs({ from, to }: Omit<UsageRange, "stepMs">): number {
  const least = Math.max(0, to - from) / (maxPoints - 1)
  const unit = least > minuteMs ? minuteMs : minStepMs
  return Math.max(minStepMs, Math.ceil(least / unit) * unit)
}

function toUsageResponse({ memoryUnit: unit }: Services["settings"], usage: UsagePoint & Pick<UsageSample, "memoryLimit">) {
  const rounded = (figure: number | null) => (figure === null ? null : Math.round(figure * 1_000) / 1_000)
  return {
    Time: toTimestamp(usage.time),
    Cpus: rounded(usage.cpus),
    Memory: fromBytes(usage.memory, unit),
    MemoryPeak: fromBytes(usage.maxMemory, unit),
    MemoryLimit: fromBytes(usage.memoryLimit, unit),
    GpuMemory: fromBytes(usage.gpuMemory, unit),
    GpuBusy: rounded(usage.gpuBusy),
    NetworkIn: usage.networkIn,
    NetworkOut: usage.networkOut,
    Disk: fromBytes(usage.disk, unit),
  }
}

function toUnknownUsage({ clock, settings }: Services, run: RunRow) {
  const unknown = {
    Cpus: null,
    Memory: null,
    MemoryPeak: null,
    GpuMemory: null,
    GpuBusy: null,
    NetworkIn: null,
    NetworkOut: null,
    Disk: null,
  }
  return { Time: toTimestamp(clock.now()), ...unknown, MemoryLimit: fromMiB(run.memoryMiB, settings.memoryUnit) }
}

async function keepAlive(context: OperationContext<"keepRun">): Promise<HandlerResult<"keepRun">> {
  const { services } = context
  const run = await loadAuthorizedRun(context, "run:keep")
  const change = changeOf(services, rightInChange(context, "run:keep", run))
  const extended = (await services.runs.keepAlive(run.id, context.actor, { change })) ?? ((await services.store.runs.get(run.id)) as RunRow)
  if (!isLive(extended.state)) throw new Failure("conflict", `Run ${run.id} has ended; only a live run can be kept`, { field: "ID" })
  context.setHeader("etag", etagOf(extended))
  return toRunResponse(services, context.caller, extended)
}

export const runUsageHandlers = { runStats: readStats, keepRun: keepAlive } satisfies Partial<Handlers>
