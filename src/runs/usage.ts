import type { RunStats, WritableLayer } from "#engine"
import type { RunRow } from "#store"
import type { Activity } from "./activity.ts"
import type { Context } from "./context.ts"

/**
 * What a run used at one time; null is what is not known. Amounts of memory, disk and traffic are
 * bytes.
 */
export interface Sample {
  /** Milliseconds since the epoch. */
  time: number
  /** How many processors were busy for it on average since the sample before. */
  cpus: number | null
  memory: number | null
  memoryLimit: number
  gpuMemory: number | null
  /** From 0 to 1. */
  gpuBusy: number | null
  /** Since the start. */
  networkIn: number | null
  networkOut: number | null
  /**
   * In its own file system, directories that are mounted not counted; looked at more rarely than
   * the rest.
   */
  disk: number | null
}

/**
 * A run that uses more than this computes, or moves data, and is not idle: what programs do that
 * wait for somebody stays well below it.
 */
export const working = { cpus: 0.05, gpuBusy: 0.05, bytesPerSecond: 10 * 1024 } as const

/** So many times the pause between two samples a known use of processors tells of the present. */
const knownFor = 3

/** What runs use, looked at every few seconds and kept in memory for as long as they are live. */
export class Usage {
  readonly #ctx: Context
  readonly #activity: Activity
  readonly #series = new Map<number, Sample[]>()
  readonly #before = new Map<number, { time: number; stats: RunStats }>()
  #layers: ReadonlyMap<string, WritableLayer> = new Map()
  #sampling: Promise<void> | undefined
  #looking: Promise<void> | undefined
  #layersAt = Number.NEGATIVE_INFINITY
  /**
   * The most bytes of disk that were free since the layers were looked at; 0 while that is not
   * known.
   */
  #mostFree = 0

  constructor(ctx: Context, activity: Activity) {
    this.#ctx = ctx
    this.#activity = activity
  }

  /** Oldest first; empty for a run that is over or was never looked at. */
  series(id: number): readonly Sample[] {
    return (this.#ctx.board.row(id) && this.#series.get(id)) ?? []
  }

  /** What the run wrote to its own file system, when that was last looked at. */
  layer(run: RunRow): WritableLayer | undefined {
    return this.#layers.get(run.key)
  }

  /** Whether the use of processors was known lately, so that its absence means something. */
  isKnown(id: number): boolean {
    const since = this.#ctx.clock.now() - knownFor * this.#ctx.settings.sampleEvery
    return this.series(id).some(({ time, cpus }) => cpus !== null && time >= since)
  }

  /** Resolves when no look at what runs wrote is under way. */
  async looked(): Promise<void> {
    await this.#looking
  }

  /** As `series`, of a run that was not looked at yet after a look. */
  async known(id: number): Promise<readonly Sample[]> {
    const isNew = this.series(id).length === 0 && this.#ctx.board.row(id)?.state === "ready"
    if (isNew) await this.sample()
    return this.series(id)
  }

  /** Takes one sample of every run. What works counts as used. */
  sample(): Promise<void> {
    this.#sampling ??= this.#sample().finally(() => {
      this.#sampling = undefined
    })
    return this.#sampling
  }

  async #sample(): Promise<void> {
    const { board, clock, engine, closed } = this.#ctx
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    const stats = new Map((await engine.stats(closed)).map((each) => [each.key, each]))
    const time = clock.now()
    const rows = board.rows()
    for (const run of rows) {
      const now = stats.get(run.key)
      if (now) this.#add(run, now, time)
    }
    const live = new Set(rows.map(({ id }) => id))
    for (const kept of [this.#series, this.#before]) for (const id of kept.keys()) if (!live.has(id)) kept.delete(id)
  }

  /**
   * Counting files costs and may take long, so this is done rarely, or when the disk fills, and no
   * sample waits for it. Never rejects.
   */
  async #look(): Promise<void> {
    const { clock, closed, engine, logger, settings } = this.#ctx
    try {
      const free = await engine.freeDisk(closed)
      const isFilling = free !== null && this.#mostFree - free >= settings.layersAfter
      if (!isFilling && clock.now() - this.#layersAt < settings.layersEvery) {
        // Measured from the highest: what is taken after something was freed counts in full.
        this.#mostFree = Math.max(this.#mostFree, free ?? 0)
        return
      }
      this.#layersAt = clock.now()
      this.#mostFree = free ?? 0
      this.#layers = await engine.writableLayers(closed)
    } catch (error) {
      if (!closed.aborted) logger.warn({ err: error }, "what runs wrote to their own file systems could not be looked at")
    }
  }

  #add(run: RunRow, stats: RunStats, time: number): void {
    const before = this.#before.get(run.id)
    this.#before.set(run.id, { time, stats })
    const seconds = before && before.time < time ? (time - before.time) / 1_000 : undefined
    const cpus = rate(before?.stats.cpuSeconds, stats.cpuSeconds, seconds)
    const { memory, gpuMemory, gpuBusy, networkIn, networkOut } = stats
    const memoryLimit = run.memoryMiB * 2 ** 20
    const sample = { time, cpus, memory, memoryLimit, gpuMemory, gpuBusy, networkIn, networkOut, disk: this.layer(run)?.bytes ?? null }
    const series = this.#series.get(run.id) ?? []
    this.#series.set(run.id, series)
    series.push(sample)
    if (series.length > this.#ctx.settings.samples) series.shift()
    const traffic = rate(sum(before?.stats), sum(stats), seconds)
    if (above(cpus, working.cpus) || above(gpuBusy, working.gpuBusy) || above(traffic, working.bytesPerSecond)) this.#activity.mark(run.id)
  }
}

function rate(before: number | null | undefined, now: number | null, seconds: number | undefined): number | null {
  if (before == null || now === null || seconds === undefined) return null
  // A counter that went back began anew: the container was restarted.
  return now < before ? null : (now - before) / seconds
}

function sum(stats: RunStats | undefined): number | null {
  return stats == null || stats.networkIn === null || stats.networkOut === null ? null : stats.networkIn + stats.networkOut
}

function above(figure: number | null, bound: number): boolean {
  return figure !== null && figure >= bound
}
