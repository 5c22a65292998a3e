import { type Clock, type Logger, silentLogger, systemClock } from "#kit"
import { EngineError, type GpuDevice } from "../engine.ts"
import type { GpuOptions, GpuProvider, GpuUsage } from "./gpu-provider.ts"
import { type GpuQueryResult, type GpuReading, NvidiaSmi } from "./nvidia-smi.ts"

/** Readings are shared for so long. */
const maxAgeMs = 5_000
/** A caller waits so long for a slow driver, then gets the earlier readings. */
const maxWaitMs = 4_000
/** So many failed queries in a row mean that no device answers: one may be an accident. */
const maxFailures = 2
const noAnswer = "it does not answer any more"

export interface NvidiaOptions extends GpuOptions {
  isRequired: boolean
  /** Time limit of one query. */
  timeoutMs?: number
}

/**
 * NVIDIA devices and their health. A device that answered once stays known until this process ends,
 * so one that falls silent is a device with a fault and not a smaller machine.
 */
export class NvidiaGpus implements GpuProvider {
  readonly #tool: NvidiaSmi
  readonly #isRequired: boolean
  readonly #clock: Clock
  readonly #log: Logger
  readonly #known = new Map<string, GpuDevice>()
  #usage: ReadonlyMap<string, GpuUsage> = new Map()
  #refreshedAt = Number.NEGATIVE_INFINITY
  #refreshing: Promise<void> | undefined
  #failures = 0
  #lastMessage: string | undefined

  constructor({ isRequired, gpuToolPath: path, timeoutMs, clock = systemClock, logger = silentLogger }: NvidiaOptions) {
    this.#tool = new NvidiaSmi({ ...(path !== undefined && { path }), ...(timeoutMs !== undefined && { timeoutMs }) })
    this.#isRequired = isRequired
    this.#clock = clock
    this.#log = logger
  }

  async prepare(): Promise<void> {
    const refreshing = this.#refresh()
    if (!this.#isRequired) return
    await refreshing
    if ([...this.#known.values()].some(({ fault }) => fault === undefined)) return
    throw new EngineError("insufficient_gpu", `No NVIDIA GPU can be used: ${this.#lastMessage ?? "each has a fault"}`)
  }

  async devices(): Promise<readonly GpuDevice[]> {
    await this.#refreshIfStale()
    return [...this.#known.values()]
  }

  async usage(): Promise<ReadonlyMap<string, GpuUsage>> {
    await this.#refreshIfStale()
    return this.#usage
  }

  async #refreshIfStale(): Promise<void> {
    if (this.#clock.now() - this.#refreshedAt < maxAgeMs) return
    const waited = new AbortController()
    await Promise.race([this.#refresh(), this.#clock.sleep(maxWaitMs, waited.signal).catch(() => {})])
    waited.abort()
  }

  /** Never rejects. Concurrent callers share one query. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#query()
      .catch((err: unknown) => this.#log.error({ err }, "GPUs were not queried"))
      .finally(() => {
        this.#refreshedAt = this.#clock.now()
        this.#refreshing = undefined
      })
    return this.#refreshing
  }

  async #query(): Promise<void> {
    const result = await this.#tool.query()
    if (result === undefined) return this.#handleFailure("nvidia-smi is not installed")
    const readings = result.readings.length > 0 || result.isComplete ? result.readings : await this.#queryEach(result)
    if (readings.length === 0) return this.#handleFailure(result.message ?? "nvidia-smi lists no device")
    this.#failures = 0
    this.#report(result.message)
    this.#apply(readings)
  }

  /** Older drivers describe no device at all while one of them does not answer. */
  async #queryEach({ message = "" }: GpuQueryResult): Promise<GpuReading[]> {
    if (!/device handle/i.test(message)) return []
    const readings: GpuReading[] = []
    for (const id of this.#known.keys()) readings.push(...((await this.#tool.query(id))?.readings ?? []).filter((each) => each.id === id))
    return readings
  }

  #handleFailure(message: string): void {
    this.#failures += 1
    this.#usage = new Map()
    this.#report(message)
    if (this.#failures >= maxFailures) this.#apply([])
  }

  /** The same message is logged once. */
  #report(message: string | undefined): void {
    if (message !== undefined && message !== this.#lastMessage) {
      if (this.#known.size === 0 && !this.#isRequired) this.#log.info({ message }, "found no NVIDIA GPUs")
      else this.#log.warn({ message }, "nvidia-smi reports a problem")
    }
    this.#lastMessage = message
  }

  #apply(readings: readonly GpuReading[]): void {
    this.#usage = new Map(readings.map(({ id, memory, busy }) => [id, { memory, busy }]))
    const found = new Map(readings.map(({ id, model, memoryMiB, fault }) => [id, { id, model, memoryMiB, fault }]))
    for (const known of this.#known.values()) if (!found.has(known.id)) found.set(known.id, { ...known, fault: noAnswer })
    for (const device of found.values()) {
      this.#reportChange(device, this.#known.get(device.id))
      this.#known.set(device.id, this.#withKnownFacts(device))
    }
  }

  /** A device that does not answer may not tell its name and memory either. */
  #withKnownFacts(device: GpuDevice): GpuDevice {
    const { model, memoryMiB } = (device.fault !== undefined && this.#known.get(device.id)) || device
    return { ...device, model, memoryMiB }
  }

  #reportChange({ id, model, memoryMiB, fault }: GpuDevice, before: GpuDevice | undefined): void {
    if (before && before.fault === fault) return
    if (fault !== undefined) this.#log.error({ gpu: id, model, fault }, "a GPU cannot be used; no run gets it")
    else this.#log.info({ gpu: id, model, memoryMiB }, before ? "a GPU can be used again" : "found a GPU")
  }
}
