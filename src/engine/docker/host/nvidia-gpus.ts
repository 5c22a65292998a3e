import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { GpuDevice } from "../../engine.ts"
import { childEnvironment } from "./child-environment.ts"

/** The machine's NVIDIA devices as its own tool lists them; none where there is no such tool. */
export async function listNvidiaGpus(signal?: AbortSignal): Promise<GpuDevice[]> {
  const rows = await ask("uuid,name,memory.total", signal)
  return rows.map(([id = "", model = "", memory = "0"]) => ({ id, model, memoryMiB: Number(memory) || 0 }))
}

/** What one device does now; null is what its driver does not tell. */
export interface GpuUsage {
  /** Bytes. */
  memory: number | null
  /** From 0 to 1. */
  busy: number | null
}

/** What the machine's NVIDIA devices do now, by their IDs. */
export async function readNvidiaUsage(signal?: AbortSignal): Promise<Map<string, GpuUsage>> {
  const rows = await ask("uuid,memory.used,utilization.gpu", signal)
  return new Map(rows.map(([id = "", memory, busy]) => [id, { memory: scaled(memory, 2 ** 20), busy: scaled(busy, 0.01) }]))
}

/** The tool writes words such as `[N/A]` for what it does not know. */
function scaled(text: string | undefined, factor: number): number | null {
  return text !== undefined && /^[\d.]+$/.test(text) ? Number(text) * factor : null
}

async function ask(columns: string, signal?: AbortSignal): Promise<string[][]> {
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
