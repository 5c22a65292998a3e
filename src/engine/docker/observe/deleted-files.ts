import { execFile } from "node:child_process"
import { readFile, stat } from "node:fs/promises"
import { setTimeout as pause } from "node:timers/promises"
import { bounds } from "#contract"
import { Semaphore, Yielder } from "#kit"
import { childEnvironment } from "../host/child-environment.ts"
import type { RunningContainer } from "./container-observer.ts"
import { controlGroupsOf } from "./container-stats.ts"
import { tasksWithDescriptors } from "./tasks.ts"

const timeoutMs = bounds.storage.openFilesMs.value
/** Programs receive files that others send them within far less. */
const receiveMs = 1_000
const slots = new Semaphore(8)
const blockBytes = 512
/** An empty file uses an inode. */
const minFileBytes = bounds.storage.entryBytes.value
/** About 150,000 descriptors. */
const maxOutputBytes = 2 ** 22
/** Lines between two looks at the clock. */
const linesPerLook = 256

export interface DeletedFilesOptions {
  /** Files on its device count. */
  pathOf: (container: RunningContainer) => string
  /** Whether files that wait in a socket make a run one that cannot be examined. */
  countsSentFiles: boolean
  signal?: AbortSignal | undefined
}

/**
 * Bytes of deleted files that programs still have open or mapped, by the run's key: they use space
 * that no directory shows. `Infinity` if a run has more open files than can be examined, or files
 * that wait in a socket, where nobody can look. A run whose processes are not visible is absent.
 * Rejects with the signal's reason only.
 */
export async function deletedFiles(containers: readonly RunningContainer[], options: DeletedFilesOptions): Promise<Map<string, number>> {
  const found = await Promise.all(
    containers.map((container) => slots.run(async () => [container.key, await bytesOf(container, options)] as const)),
  )
  options.signal?.throwIfAborted()
  return new Map(found.flatMap(([key, bytes]) => (bytes === undefined ? [] : [[key, bytes] as const])))
}

async function bytesOf(container: RunningContainer, options: DeletedFilesOptions): Promise<number | undefined> {
  const { pathOf, signal } = options
  const { id, pid } = container
  try {
    const groups = controlGroupsOf(`/proc/${pid}`, id)
    if (!groups || signal?.aborted) return undefined
    const { dev } = await stat(pathOf(container), { bigint: true })
    const processes = (await readFile(`${groups.memory}/cgroup.procs`, "utf8")).trim().split("\n")
    return await examine(processes, { ...options, device: String(dev) })
  } catch {
    return undefined
  }
}

/** `Infinity` as in `deletedFiles`. */
export async function examine(
  processes: readonly string[],
  { device, countsSentFiles, signal }: Pick<DeletedFilesOptions, "countsSentFiles" | "signal"> & { device: string },
): Promise<number> {
  const tasks = await tasksOf(processes)
  const bytes = await sumDeleted(tasks, device, signal)
  if (bytes === Number.POSITIVE_INFINITY || !countsSentFiles || !(await hasSentFiles(tasks, signal))) return bytes
  await pause(receiveMs, undefined, signal ? { signal } : {})
  return (await hasSentFiles(await tasksOf(processes), signal)) ? Number.POSITIVE_INFINITY : bytes
}

async function tasksOf(processes: readonly string[]): Promise<string[]> {
  const yielder = new Yielder()
  const tasks: string[] = []
  for (const processId of processes) {
    tasks.push(...tasksWithDescriptors(processId))
    await yielder.pause()
  }
  return tasks
}

/** In another process, since a run may have millions of descriptors. */
function sumDeleted(tasks: readonly string[], device: string, signal: AbortSignal | undefined): Promise<number> {
  const places = tasks.flatMap((task) => [`/proc/${task}/fd`, `/proc/${task}/map_files`, `/proc/${task}/exe`])
  const words = ["-L", ...places, "-maxdepth", "1", "-type", "f", "-links", "0", "-printf", "%D %i %b\\n"]
  return new Promise((resolve) => {
    // `find` fails if a process ends meanwhile, and still prints the rest.
    execFile("find", words, { timeout: timeoutMs, signal, env: childEnvironment, maxBuffer: maxOutputBytes }, (error, stdout) => {
      const isCutOff = error?.killed || (error?.code as unknown) === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER"
      resolve(isCutOff ? Number.POSITIVE_INFINITY : sumOfDevice(device, stdout))
    })
  })
}

/**
 * Whether files that a program sent to another wait in a socket: then no process has them open, and
 * they may have any size. Also true if there are too many descriptors to look.
 */
function hasSentFiles(tasks: readonly string[], signal: AbortSignal | undefined): Promise<boolean> {
  const words = ["-r", "-q", "-s", "-E", "^scm_fds:[[:space:]]*[1-9]", ...tasks.map((task) => `/proc/${task}/fdinfo`)]
  return new Promise((resolve) => {
    // Another code than 0: none has any, or a process has just ended.
    execFile("grep", words, { timeout: timeoutMs, signal, env: childEnvironment }, (error) => resolve(!error || error.killed === true))
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
  return blocksOf.values().reduce((sum, blocks) => sum + Math.max(blocks * blockBytes, minFileBytes), 0)
}
