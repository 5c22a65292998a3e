import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { GpuDevice } from "../engine.ts"

const query = ["--query-gpu=uuid,name,memory.total", "--format=csv,noheader,nounits"]

/** The machine's NVIDIA devices as its own tool lists them; none where there is no such tool. */
export async function nvidiaDevices(signal?: AbortSignal): Promise<GpuDevice[]> {
  const listed = await promisify(execFile)("nvidia-smi", query, { timeout: 10_000, ...(signal && { signal }) }).catch((error: unknown) => {
    signal?.throwIfAborted()
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    return { stdout: "" }
  })
  return listed.stdout
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [id = "", model = "", memory = "0"] = line.split(",").map((word) => word.trim())
      return { id, model, memoryMiB: Number(memory) || 0 }
    })
}
