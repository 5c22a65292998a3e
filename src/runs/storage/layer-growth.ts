import { uncountedBytes, type WritableLayer } from "#engine"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import type { UsageMonitor } from "../limits/usage-monitor.ts"
import type { DiskSpace } from "./storage-meter.ts"

/** Growth of the runs' writable layers, if these are on the same disk as people's files. */
export class LayerGrowth {
  readonly #ctx: RunsContext
  readonly #usage: Pick<UsageMonitor, "layerOf">
  readonly #before = new Map<string, number>()
  #now: ReadonlyMap<string, WritableLayer> = new Map()

  constructor(ctx: RunsContext, usage: Pick<UsageMonitor, "layerOf">) {
    this.#ctx = ctx
    this.#usage = usage
  }

  /** Counts only later growth. Sends nothing to the engine. */
  resetBaseline(rows: readonly RunRow[]): void {
    const live = new Set(rows.map(({ key }) => key))
    for (const key of this.#before.keys()) if (!live.has(key)) this.#before.delete(key)
    for (const run of rows) this.#before.set(run.key, Math.max(this.#now.get(run.key)?.bytes ?? 0, this.#usage.layerOf(run)?.bytes ?? 0))
    this.#now = new Map()
  }

  /**
   * Measures through the engine; returns nothing for another disk or after an error, and `Infinity`
   * for a layer that cannot be counted in time.
   */
  async measureGrowth({ freeBytes, totalBytes }: DiskSpace): Promise<(run: RunRow) => number> {
    const { closed, engine, logger } = this.#ctx
    const free = await engine.freeDisk(closed)
    if (free === null || Math.abs(free - freeBytes) > totalBytes / 100) return () => 0
    try {
      this.#now = await engine.writableLayers(closed)
    } catch (err) {
      if (!closed.aborted) logger.warn({ err }, "measuring the runs' writable layers failed")
    }
    return ({ key }) => {
      const now = this.#now.get(key)?.bytes ?? 0
      return now >= uncountedBytes ? Number.POSITIVE_INFINITY : Math.max(0, now - (this.#before.get(key) ?? 0))
    }
  }
}
