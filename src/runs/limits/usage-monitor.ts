import type { ContainerStats, WritableLayer } from "#engine"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import type { UsageSample } from "../usage/usage-sample.ts"
import type { ActivityTracker } from "./activity-tracker.ts"

/**
 * A run above one of these thresholds computes or moves data, so it is not idle. Waiting programs
 * stay well below them.
 */
const activityThresholds = { cpus: 0.05, gpuBusy: 0.05, bytesPerSecond: 10 * 1024 } as const

/** Number of sample intervals after which a known processor usage is outdated. */
const maxSampleIntervals = 3

/** Samples the usage of live runs every few seconds. The last samples stay in memory. */
export class UsageMonitor {
  readonly #ctx: RunsContext
  readonly #activity: ActivityTracker
  readonly #series = new Map<number, UsageSample[]>()
  readonly #before = new Map<number, { time: number; stats: ContainerStats }>()
  #layers: ReadonlyMap<string, WritableLayer> = new Map()
  #sampling: Promise<void> | undefined
  #updatingLayers: Promise<void> | undefined
  #layersAt = Number.NEGATIVE_INFINITY
  /**
   * The most free bytes of disk since the last measurement of the layers; 0 while unknown.
   */
  #maxFreeBytes = 0

  constructor(ctx: RunsContext, activity: ActivityTracker) {
    this.#ctx = ctx
    this.#activity = activity
  }

  /** The last samples, oldest first; empty for a run that has ended or has no sample yet. */
  samplesOf(id: number): readonly UsageSample[] {
    return (this.#ctx.runCache.row(id) && this.#series.get(id)) ?? []
  }

  /** Size of the run's writable layer at the last measurement. */
  layerOf(run: RunRow): WritableLayer | undefined {
    return this.#layers.get(run.key)
  }

  /** Whether a recent sample contains the use of the processors, and of the run's GPUs. */
  isUseKnown({ id, gpuDevices }: RunRow): boolean {
    const since = this.#ctx.clock.now() - maxSampleIntervals * this.#ctx.settings.sampleEveryMs
    return this.samplesOf(id).some(
      ({ time, cpus, gpuBusy }) => time >= since && cpus !== null && (gpuDevices.length === 0 || gpuBusy !== null),
    )
  }

  /** Resolves when no measurement of layers is in progress. */
  async layersUpdated(): Promise<void> {
    await this.#updatingLayers
  }

  /** Like `samplesOf`, but takes a first sample of a run that has none. */
  async loadSamplesOf(id: number): Promise<readonly UsageSample[]> {
    const isNew = this.samplesOf(id).length === 0 && this.#ctx.runCache.row(id)?.state === "ready"
    if (isNew) await this.takeSamples()
    return this.samplesOf(id)
  }

  /** Takes one sample of every run, and marks working runs as active. */
  takeSamples(): Promise<void> {
    this.#sampling ??= this.#takeSamples().finally(() => {
      this.#sampling = undefined
    })
    return this.#sampling
  }

  async #takeSamples(): Promise<void> {
    const { runCache, clock, engine, closed, memoryWarnings } = this.#ctx
    this.#updatingLayers ??= this.#updateLayers().finally(() => {
      this.#updatingLayers = undefined
    })
    const stats = new Map((await engine.stats(closed)).map((each) => [each.key, each]))
    const time = clock.now()
    const rows = runCache.rows()
    const samples: { run: RunRow; sample: UsageSample }[] = []
    for (const run of rows) {
      const now = stats.get(run.key)
      if (!now) continue
      samples.push({ run, sample: this.#add(run, now, time) })
      memoryWarnings.report(run, now.oomKills ?? 0)
    }
    const live = new Set(rows.map(({ id }) => id))
    for (const kept of [this.#series, this.#before]) for (const id of kept.keys()) if (!live.has(id)) kept.delete(id)
    memoryWarnings.retainOnly((id) => live.has(id))
    // No judgement waits for the files.
    void this.#ctx.usageStore.record(samples)
  }

  /**
   * Measures the layers. Counting files may take long, so this happens rarely or when the disk
   * fills, and no sample waits for it. Never rejects.
   */
  async #updateLayers(): Promise<void> {
    const { clock, closed, engine, logger, settings } = this.#ctx
    try {
      const free = await engine.freeDisk(closed)
      const isFilling = free !== null && this.#maxFreeBytes - free >= settings.layersAfterBytes
      if (!isFilling && clock.now() - this.#layersAt < settings.layersEveryMs) {
        // The highest value is the base, so space that is freed and used again counts in full.
        this.#maxFreeBytes = Math.max(this.#maxFreeBytes, free ?? 0)
        return
      }
      this.#layersAt = clock.now()
      this.#maxFreeBytes = free ?? 0
      this.#layers = await engine.writableLayers(closed)
    } catch (error) {
      if (!closed.aborted) logger.warn({ err: error }, "runs' own file systems were not measured")
    }
  }

  #add(run: RunRow, stats: ContainerStats, time: number): UsageSample {
    const before = this.#before.get(run.id)
    // Work during a gap of the figures counts once they are back.
    if (stats.cpuSeconds !== null || !before) this.#before.set(run.id, { time, stats })
    const seconds = before && before.time < time ? (time - before.time) / 1_000 : undefined
    const cpus = rate(before?.stats.cpuSeconds, stats.cpuSeconds, seconds)
    const { memory, gpuMemory, gpuBusy, networkIn, networkOut } = stats
    const memoryLimit = run.memoryMiB * 2 ** 20
    const sample = { time, cpus, memory, memoryLimit, gpuMemory, gpuBusy, networkIn, networkOut, disk: this.layerOf(run)?.bytes ?? null }
    const series = this.#series.get(run.id) ?? []
    this.#series.set(run.id, series)
    series.push(sample)
    if (series.length > this.#ctx.settings.maxSamples) series.shift()
    const traffic = rate(sum(before?.stats), sum(stats), seconds)
    if (
      isAtLeast(cpus, activityThresholds.cpus) ||
      isAtLeast(gpuBusy, activityThresholds.gpuBusy) ||
      isAtLeast(traffic, activityThresholds.bytesPerSecond)
    ) {
      this.#activity.mark(run.id)
      if (run.state === "starting") this.#ctx.startingWork.set(run.id, time)
    }
    return sample
  }
}

function rate(before: number | null | undefined, now: number | null, seconds: number | undefined): number | null {
  if (before == null || now === null || seconds === undefined) return null
  // A lower counter means that the container restarted.
  return now < before ? null : (now - before) / seconds
}

function sum(stats: ContainerStats | undefined): number | null {
  return stats == null || stats.networkIn === null || stats.networkOut === null ? null : stats.networkIn + stats.networkOut
}

function isAtLeast(figure: number | null, bound: number): boolean {
  return figure !== null && figure >= bound
}
