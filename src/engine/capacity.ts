export interface GpuRequest {
  count: number
  /** The least memory of each device in MiB; 0: any. */
  memoryMiB: number
}

export interface NodeCapacity {
  name: string
  cpus: number
  memoryMiB: number
  gpus: GpuDevice[]
}

export interface GpuDevice {
  id: string
  model: string
  /** 0 if unknown. */
  memoryMiB: number
  /** Why no run may get it, such as "it has fallen off the bus". Absent: it can be used. */
  fault?: string | undefined
}
