import { execFile } from "node:child_process"
import { bounds, reasonMessages } from "#contract"
import { OwnerQueue } from "#kit"
import { EngineError } from "../../engine.ts"
import { childEnvironment } from "../host/child-environment.ts"

const { emptiedVolumes, emptiedVolumesOfPerson, emptyVolumesMs } = bounds.containers
const queue = new OwnerQueue(emptiedVolumes.value, emptiedVolumesOfPerson.value)

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
  if (directories.length === 0) return
  using _ = await queue.acquire(owner, signal)
  const words = ["-P", ...directories, "-xdev", "-mindepth", "1", "-delete"]
  const options = { timeout: emptyVolumesMs.value, signal, env: childEnvironment }
  // `find` fails if a directory is missing, and still empties the others.
  const isLate = await new Promise<boolean>((resolve) => execFile("find", words, options, (error) => resolve(error?.killed === true)))
  signal?.throwIfAborted()
  if (isLate) throw new EngineError("timeout_stopping", reasonMessages.timeout_stopping)
}
