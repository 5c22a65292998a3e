import type { GpuOptions, GpuProvider } from "./gpu-provider.ts"
import { mockGpuDevices } from "./mock-gpus.ts"
import { NvidiaGpus } from "./nvidia-gpus.ts"

export function createGpuProvider(options: GpuOptions): GpuProvider {
  const { gpus = "auto", mockGpus = 0 } = options
  if (mockGpus === 0 && gpus !== "none") return new NvidiaGpus({ ...options, isRequired: gpus === "nvidia" })
  const devices = mockGpuDevices(mockGpus)
  return { prepare: async () => {}, devices: async () => devices, usage: async () => new Map() }
}
