import type { GpuDevice } from "./engine.ts"

const prefix = "mock-"

/**
 * Devices that exist on paper only, `mock-0` and on, each of 16 GiB: scheduling can be tried
 * without a GPU. A run that holds one gets no device.
 */
export function mockGpuDevices(count: number): GpuDevice[] {
  return Array.from({ length: count }, (_, n) => ({ id: `${prefix}${n}`, model: "Mock GPU", memoryMiB: 16_384 }))
}

export function isMockGpu(id: string): boolean {
  return id.startsWith(prefix)
}
