import { execFile } from "node:child_process"
import { readFile, stat } from "node:fs/promises"
import { bounds } from "#contract"
import { Semaphore } from "#kit"
import { childEnvironment } from "../host/child-environment.ts"
import type { RunningContainer } from "./container-observer.ts"
import { controlGroupsOf } from "./container-stats.ts"

const timeoutMs = bounds.storage.openFilesMs.value
const slots = new Semaphore(8)
const blockBytes = 512

/**
 * Bytes of deleted files that programs still have open or mapped, by the run's key: they use space
 * that no directory shows. Counts files on the device of `pathOf`. `Infinity` if a run has more
 * open files than can be examined. A run whose processes are not visible is absent. Rejects with
 * the signal's reason only.
 */
export async function deletedFiles(
  containers: readonly RunningContainer[],
  pathOf: (container: RunningContainer) => string,
  signal?: AbortSignal,
): Promise<Map<string, number>> {
  const found = await Promise.all(
    containers.map((container) => slots.run(async () => [container.key, await bytesOf(container, pathOf(container), signal)] as const)),
  )
  signal?.throwIfAborted()
  return new Map(found.flatMap(([key, bytes]) => (bytes === undefined ? [] : [[key, bytes] as const])))
}

async function bytesOf({ id, pid }: RunningContainer, path: string, signal: AbortSignal | undefined): Promise<number | undefined> {
  try {
    const groups = controlGroupsOf(`/proc/${pid}`, id)
    if (!groups || signal?.aborted) return undefined
    const { dev } = await stat(path, { bigint: true })
    const processes = await readFile(`${groups.memory}/cgroup.procs`, "utf8")
    return await examine(processes.trim().split("\n"), String(dev), signal)
  } catch {
    return undefined
  }
}

/** In another process, since a run may have millions of descriptors. */
async function examine(processes: readonly string[], device: string, signal: AbortSignal | undefined): Promise<number> {
  const folders = processes.flatMap((pid) => [`/proc/${pid}/fd`, `/proc/${pid}/map_files`])
  const words = ["-L", ...folders, "-maxdepth", "1", "-type", "f", "-links", "0", "-printf", "%D %i %b\\n"]
  return new Promise((resolve) => {
    // `find` fails if a process ends meanwhile, and still prints the rest.
    execFile("find", words, { timeout: timeoutMs, signal, env: childEnvironment, maxBuffer: 2 ** 24 }, (error, stdout) => {
      const isCutOff = error?.killed || (error?.code as unknown) === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER"
      resolve(isCutOff ? Number.POSITIVE_INFINITY : sumOn(device, stdout))
    })
  })
}

/** Each file once, however many descriptors lead to it; it may have grown between two of them. */
function sumOn(device: string, output: string): number {
  const blocksOf = new Map<string, number>()
  for (const line of output.split("\n")) {
    const [on, inode = "", blocks] = line.split(" ")
    if (on === device) blocksOf.set(inode, Number(blocks))
  }
  return blocksOf.values().reduce((sum, blocks) => sum + blocks * blockBytes, 0)
}
