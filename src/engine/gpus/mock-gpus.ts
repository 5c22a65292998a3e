import type { GpuDevice } from "../engine.ts"

const prefix = "mock-"

/**
 * Simulated devices `mock-0`, `mock-1`, … of 16 GiB each, to try scheduling without a GPU. A run
 * with one gets no real device.
 */
export function mockGpuDevices(count: number): GpuDevice[] {
  return Array.from({ length: count }, (_, n) => ({ id: `${prefix}${n}`, model: "Mock GPU", memoryMiB: 16_384 }))
}

export function isMockGpu(id: string): boolean {
  return id.startsWith(prefix)
}
