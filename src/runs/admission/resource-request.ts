import type { RunRow } from "#store"

/** What a run asks for. Memory is MiB; `gpuMemoryMiB` is the minimum of each of its GPUs. */
export type ResourceRequest = Pick<RunRow, "cpus" | "memoryMiB" | "gpus" | "gpuMemoryMiB">
