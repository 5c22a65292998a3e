// A process for bench/hostile.ts that does what a program in a run can do to the directory that is
// its first argument. One thread writes 1.9 GiB to a file in one call after another, during which
// the kernel holds the file's lock. Another gives the file a second name and moves that between two
// directories. Meanwhile the kernel holds the locks of both, and the file system's only lock for
// such moves. It ends with its standard input.
import { closeSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import { isMainThread, Worker, workerData } from "node:worker_threads"

/** Linux writes at most 2 GiB less a page in one call. */
const bytesPerCall = 1.9 * 2 ** 30

/** The names in the directory, all of them to be removed afterwards. */
export const lockHolderNames = { file: "held", second: "held-too", directory: "held-directory" } as const

if (isMainThread && process.argv[1] === import.meta.filename) {
  const [, , directory = ""] = process.argv
  mkdirSync(join(directory, lockHolderNames.directory))
  for (const task of ["write", "move"]) new Worker(import.meta.filename, { workerData: { task, directory } })
  process.stdin.resume().on("end", () => process.exit())
}
if (!isMainThread && workerData?.task === "write") writeForEver(workerData.directory)
if (!isMainThread && workerData?.task === "move") moveForEver(workerData.directory)

/** The pages of the zeros are never written to, so they take no memory. */
function writeForEver(directory: string): never {
  const zeros = Buffer.alloc(bytesPerCall)
  for (;;) {
    // The person's requests may replace the file.
    const file = openSync(join(directory, lockHolderNames.file), "a")
    closeSync(file)
    const written = openSync(join(directory, lockHolderNames.file), "r+")
    writeSync(written, zeros, 0, zeros.length, 0)
    closeSync(written)
  }
}

function moveForEver(directory: string): never {
  const [file, second] = [lockHolderNames.file, lockHolderNames.second].map((name) => join(directory, name)) as [string, string]
  const moved = join(directory, lockHolderNames.directory, lockHolderNames.second)
  for (;;) {
    try {
      rmSync(second, { force: true })
      linkSync(file, second)
      renameSync(second, moved)
      renameSync(moved, second)
    } catch {
      // The file is not there yet, or a request is replacing it.
    }
  }
}
