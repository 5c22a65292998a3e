import type { Clock, Logger } from "#kit"
import { EngineError, type GpuDevice, type RunSpec } from "../engine.ts"

/** The current load of one device; null: unknown to its driver. */
export interface GpuUsage {
  /** Bytes. */
  memory: number | null
  /** From 0 to 1. */
  busy: number | null
}

/** The GPUs of this machine. */
export interface GpuProvider {
  /** Rejects with one sentence if devices are required and none can be used. */
  prepare(): Promise<void>
  /** All known devices, also those with a fault. */
  devices(): Promise<readonly GpuDevice[]>
  /** The load of the devices that answer, by ID. */
  usage(): Promise<ReadonlyMap<string, GpuUsage>>
}

export interface GpuOptions {
  /**
   * `nvidia` requires a device that answers, `auto` uses the devices that `nvidia-smi` lists, if
   * there is such a program. Default `auto`.
   */
  gpus?: "auto" | "nvidia" | "none"
  /** The number of simulated devices, which replace real ones. Default 0. */
  mockGpus?: number
  /** Directories in which `nvidia-smi` is searched. Default: the usual ones. */
  gpuToolPath?: string
  clock?: Clock
  logger?: Logger
}

/** Rejects devices that this machine does not have, or that have a fault now. */
export function checkUsableGpus({ gpus }: Pick<RunSpec, "gpus">, devices: readonly GpuDevice[]): void {
  for (const id of gpus) {
    const device = devices.find((each) => each.id === id)
    if (!device) throw new EngineError("insufficient_gpu", `This machine has no GPU ${id}`)
    if (device.fault !== undefined) throw new EngineError("insufficient_gpu", `The GPU ${id} cannot be used: ${device.fault}`)
  }
}
