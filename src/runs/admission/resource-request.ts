import type { RunRow } from "#store"

/**
 * The resources that a run requests on each of its nodes. Memory is MiB; `gpuMemoryMiB` is the
 * minimum of each of its GPUs.
 */
export type ResourceRequest = Pick<RunRow, "nodes" | "cpus" | "memoryMiB" | "gpus" | "gpuMemoryMiB">
