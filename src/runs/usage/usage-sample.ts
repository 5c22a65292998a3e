/**
 * A run's resource usage at one time; null means unknown. Memory, disk and traffic are in bytes.
 */
export interface UsageSample {
  /** Milliseconds since the epoch. */
  time: number
  /** Average number of busy processors since the previous sample. */
  cpus: number | null
  memory: number | null
  memoryLimit: number
  gpuMemory: number | null
  /** From 0 to 1. */
  gpuBusy: number | null
  /** Since the run started. */
  networkIn: number | null
  networkOut: number | null
  /**
   * In the writable layer, without mounted directories; sampled more rarely than the rest.
   */
  disk: number | null
}

/** The samples of one step: averages, but the last counters and the last size of the disk. */
export interface UsagePoint extends Omit<UsageSample, "memoryLimit"> {
  /** When the step began. */
  time: number
  /** The most of all samples. */
  maxMemory: number | null
}
