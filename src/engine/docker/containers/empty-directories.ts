import { once } from "node:events"
import { opendir } from "node:fs/promises"
import { extname, join } from "node:path"
import { Worker } from "node:worker_threads"
import { bounds, reasonMessages } from "#contract"
import { OwnerQueue } from "#kit"
import { EngineError } from "../../engine.ts"
import type { EmptyData } from "./empty-directories-thread.ts"

const { emptiedVolumes, emptiedVolumesOfPerson, emptyVolumesMs } = bounds.containers
const queue = new OwnerQueue(emptiedVolumes.value, emptiedVolumesOfPerson.value)
/** Next to this file, in the sources and in the build. */
const threadFile = join(import.meta.dirname, `empty-directories-thread${extname(import.meta.filename)}`)

/**
 * Removes everything in directories to which no program writes any more, and not the directories
 * themselves. One that is not visible from here is left out. Rejects with `timeout_stopping` if it
 * takes too long: the next call goes on. There may be millions of files, so one person's
 * directories leave room for those of others.
 */
export async function emptyDirectories(
  directories: readonly string[],
  { owner, signal }: { owner?: string | undefined; signal?: AbortSignal | undefined },
): Promise<void> {
  const filled: string[] = []
  for (const each of directories) if (await isFilled(each)) filled.push(each)
  if (filled.length === 0) return
  using _ = await queue.acquire(owner, signal)
  const thread = new Worker(threadFile, { workerData: { empty: filled } satisfies EmptyData, execArgv: [] })
  const late = AbortSignal.timeout(emptyVolumesMs.value)
  try {
    await once(thread, "exit", { signal: signal ? AbortSignal.any([signal, late]) : late })
  } catch (error) {
    signal?.throwIfAborted()
    throw late.aborted ? new EngineError("timeout_stopping", reasonMessages.timeout_stopping) : error
  } finally {
    await thread.terminate()
  }
}

/** Reads few of the names, of which there may be millions. */
async function isFilled(path: string): Promise<boolean> {
  try {
    await using directory = await opendir(path)
    return (await directory.read()) !== null
  } catch {
    return false
  }
}
