import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { GpuDevice } from "../../engine.ts"
import { childEnvironment } from "./child-environment.ts"

/** Lists the machine's NVIDIA devices with `nvidia-smi`; none if the tool is missing. */
export async function listNvidiaGpus(signal?: AbortSignal): Promise<GpuDevice[]> {
  const rows = await queryGpus("uuid,name,memory.total", signal)
  return rows.map(([id = "", model = "", memory = "0"]) => ({ id, model, memoryMiB: Number(memory) || 0 }))
}

/** The current load of one device; null: unknown to its driver. */
export interface GpuUsage {
  /** Bytes. */
  memory: number | null
  /** From 0 to 1. */
  busy: number | null
}

/** The current load of the machine's NVIDIA devices, by ID. */
export async function readNvidiaUsage(signal?: AbortSignal): Promise<Map<string, GpuUsage>> {
  const rows = await queryGpus("uuid,memory.used,utilization.gpu", signal)
  return new Map(rows.map(([id = "", memory, busy]) => [id, { memory: scaleNumber(memory, 2 ** 20), busy: scaleNumber(busy, 0.01) }]))
}

/** The tool prints words such as `[N/A]` for unknown values. */
function scaleNumber(text: string | undefined, factor: number): number | null {
  return text !== undefined && /^[\d.]+$/.test(text) ? Number(text) * factor : null
}

async function queryGpus(columns: string, signal?: AbortSignal): Promise<string[][]> {
  const words = [`--query-gpu=${columns}`, "--format=csv,noheader,nounits"]
  const options = { env: childEnvironment, timeout: 10_000, ...(signal && { signal }) }
  const listed = await promisify(execFile)("nvidia-smi", words, options).catch((error: unknown) => {
    signal?.throwIfAborted()
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    return { stdout: "" }
  })
  const lines = listed.stdout.split("\n").filter((line) => line.trim() !== "")
  return lines.map((line) => line.split(",").map((word) => word.trim()))
}
