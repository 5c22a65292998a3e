import { randomBytes } from "node:crypto"
import { opendirSync, renameSync, rmdirSync, unlinkSync } from "node:fs"
import { setPriority } from "node:os"
import { isMainThread, workerData } from "node:worker_threads"

/** Of this thread: there may be millions of files. */
const lowestPriority = 19

/** The data with which the thread begins. */
export interface EmptyData {
  /** Directories. */
  empty: string[]
}

interface Entry {
  name: Buffer
  isDirectory(): boolean
}

/**
 * Removes everything in a directory to which no program writes any more. Entries that cannot be
 * removed stay.
 *
 * A program can make directories in each other, a million deep, which others descend with an open
 * file for each or with paths that become longer and longer. So the directories of each directory
 * move to the top before it is removed, and no path has more than two names.
 */
function emptyDirectory(top: string): void {
  const prefix = `.quayside-${randomBytes(8).toString("hex")}-`
  let [moved, removed] = [0, -1]
  const nextPath = () => {
    moved += 1
    return `${top}/${prefix}${moved}`
  }
  while (removed !== 0) {
    removed = 0
    for (const entry of entriesOf(Buffer.from(top))) {
      const path = pathIn(Buffer.from(top), entry.name)
      if (entry.isDirectory()) moveDirectoriesUp(path, nextPath)
      removed += succeeds(() => (entry.isDirectory() ? rmdirSync(path) : unlinkSync(path))) ? 1 : 0
    }
  }
}

function moveDirectoriesUp(directory: Buffer, nextPath: () => string): void {
  for (const entry of entriesOf(directory)) {
    const path = pathIn(directory, entry.name)
    succeeds(() => (entry.isDirectory() ? renameSync(path, nextPath()) : unlinkSync(path)))
  }
}

/** In parts, since there may be millions. Names are bytes. */
function* entriesOf(directory: Buffer): Generator<Entry> {
  const options = { encoding: "buffer" as BufferEncoding, bufferSize: 256 }
  using entries = opendirSync(directory, options)
  for (let entry = entries.readSync(); entry; entry = entries.readSync()) yield entry as unknown as Entry
}

function pathIn(directory: Buffer, name: Buffer): Buffer {
  return Buffer.concat([directory, Buffer.from("/"), name])
}

function succeeds(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}

if (!isMainThread && workerData?.empty) {
  setPriority(lowestPriority)
  // One that is missing, or not visible from here, is left out.
  for (const directory of (workerData as EmptyData).empty) succeeds(() => emptyDirectory(directory))
}
