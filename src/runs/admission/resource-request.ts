import type { RunRow } from "#store"

/**
 * The resources that a run requests. Memory is MiB; `gpuMemoryMiB` is the minimum of each of its
 * GPUs.
 */
export type ResourceRequest = Pick<RunRow, "cpus" | "memoryMiB" | "gpus" | "gpuMemoryMiB">
