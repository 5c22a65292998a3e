import { execFile } from "node:child_process"
import { readFile, stat } from "node:fs/promises"
import { bounds } from "#contract"
import { Semaphore, Yielder } from "#kit"
import { childEnvironment } from "../host/child-environment.ts"
import type { RunningContainer } from "./container-observer.ts"
import { controlGroupsOf } from "./container-stats.ts"

const timeoutMs = bounds.storage.openFilesMs.value
const slots = new Semaphore(8)
const blockBytes = 512
/** About 150,000 descriptors. */
const maxOutputBytes = 2 ** 22
/** Lines between two looks at the clock. */
const linesPerLook = 256

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
    execFile("find", words, { timeout: timeoutMs, signal, env: childEnvironment, maxBuffer: maxOutputBytes }, (error, stdout) => {
      const isCutOff = error?.killed || (error?.code as unknown) === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER"
      resolve(isCutOff ? Number.POSITIVE_INFINITY : sumOfDevice(device, stdout))
    })
  })
}

/**
 * Bytes on a device, from lines `device inode blocks`, in slices. Each file counts once, however
 * many descriptors lead to it; it may have grown between two of them.
 */
export async function sumOfDevice(device: string, output: string): Promise<number> {
  const blocksOf = new Map<string, number>()
  const yielder = new Yielder()
  let lines = 0
  for (let at = 0, end = output.indexOf("\n"); end >= 0; at = end + 1, end = output.indexOf("\n", at)) {
    const [on, inode = "", blocks] = output.slice(at, end).split(" ")
    if (on === device) blocksOf.set(inode, Number(blocks))
    lines += 1
    if (lines % linesPerLook === 0) await yielder.pause()
  }
  return blocksOf.values().reduce((sum, blocks) => sum + blocks * blockBytes, 0)
}
