import { Failure, isLive } from "#contract"
import type { UsageSample } from "#runs"
import type { RunRow } from "#store"
import type { HandlerResult, Handlers, OperationContext, Services } from "../../context.ts"
import { etagOf } from "../../http/etag.ts"
import { toTimestamp } from "../../responses/lists.ts"
import { toRunResponse } from "../../responses/runs.ts"
import { fromBytes, fromMiB } from "../../units.ts"
import { loadAuthorizedRun } from "./runs.ts"

/** The usage of a run now and in the last hour. Unknown values are null. */
async function readStats(context: OperationContext<"runStats">): Promise<HandlerResult<"runStats">> {
  const { services } = context
  const run = await loadAuthorizedRun(context, "run:stats")
  const series = (await services.runs.usageSamples(run.id)).map((sample) => toSampleResponse(services, sample))
  return { now: series.at(-1) ?? toUnknownSample(services, run), series }
}

function toSampleResponse({ settings: { memoryUnit: unit } }: Services, sample: UsageSample) {
  const rounded = (figure: number | null) => (figure === null ? null : Math.round(figure * 1_000) / 1_000)
  return {
    Time: toTimestamp(sample.time),
    Cpus: rounded(sample.cpus),
    Memory: fromBytes(sample.memory, unit),
    MemoryLimit: fromBytes(sample.memoryLimit, unit),
    GpuMemory: fromBytes(sample.gpuMemory, unit),
    GpuBusy: rounded(sample.gpuBusy),
    NetworkIn: sample.networkIn,
    NetworkOut: sample.networkOut,
    Disk: fromBytes(sample.disk, unit),
  }
}

function toUnknownSample({ clock, settings }: Services, run: RunRow) {
  const unknown = { Cpus: null, Memory: null, GpuMemory: null, GpuBusy: null, NetworkIn: null, NetworkOut: null, Disk: null }
  return { Time: toTimestamp(clock.now()), ...unknown, MemoryLimit: fromMiB(run.memoryMiB, settings.memoryUnit) }
}

async function keepAlive(context: OperationContext<"keepRun">): Promise<HandlerResult<"keepRun">> {
  const { services } = context
  const run = await loadAuthorizedRun(context, "run:keep")
  const extended = (await services.runs.keepAlive(run.id, context.actor)) ?? ((await services.store.runs.get(run.id)) as RunRow)
  if (!isLive(extended.state)) throw new Failure("conflict", `Run ${run.id} has ended; only a live run can be kept`, { field: "ID" })
  context.setHeader("etag", etagOf(extended))
  return toRunResponse(services, context.caller, extended)
}

export const runUsageHandlers = { runStats: readStats, keepRun: keepAlive } satisfies Partial<Handlers>
