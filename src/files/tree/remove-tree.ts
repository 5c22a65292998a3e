import { chmodSync, closeSync, constants, renameSync, rmdirSync } from "node:fs"
import { unlink } from "node:fs/promises"
import { Slice } from "../requests/yielder.ts"
import { closing, type Folder, type Name } from "./directory-handle.ts"

/** `open(2)`: a handle on the entry itself, needing no right on it. */
const O_PATH = 0o10000000
const width = 32
/**
 * While so many directories wait, another is only taken up where one would not get on otherwise: a
 * million of them need no list of a million names.
 */
const mostWaiting = 1_000

/**
 * Removes an entry of `place` with everything below it, by descriptor. A directory that is found on
 * the way is first moved up into `place` under a fresh name, so that two descriptors are enough for
 * any depth. `place` should be out of others' reach. Answers the names in `place` that could not be
 * removed because programs that are in them keep changing them.
 */
export async function removeTree(place: Folder, names: Name | readonly Name[], fresh: () => string): Promise<Name[]> {
  const waiting = Array.isArray(names) ? [...(names as Name[])] : [names as Name]
  const removal: Removal = { place, fresh, waiting, slice: new Slice() }
  const left: Name[] = []
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (!(await removeOne(removal, next))) left.push(next)
  }
  return left
}

interface Removal {
  place: Folder
  fresh: () => string
  /** Names in `place`; the last one is the next. */
  waiting: Name[]
  slice: Slice
}

async function removeOne(removal: Removal, name: Name): Promise<boolean> {
  const { place, waiting } = removal
  const stats = place.look(name)
  if (!stats) return true
  if (!stats.isDirectory()) return unlink(place.at(name)).then(() => true, passed)
  changeMode(place, name, 0o700)
  const below = waiting.length
  for (let attempt = 0; attempt < 3; attempt += 1) {
    if (!(await empty(removal, name))) {
      // Its turn comes again when those that were found in it are gone.
      waiting.splice(below, 0, name)
      return true
    }
    const code = errorOf(() => rmdirSync(place.at(name)))
    if (code === undefined || code === "ENOENT") return true
    if (code !== "ENOTEMPTY") throw Object.assign(new Error(`A directory could not be removed: ${code}`), { code })
  }
  return false
}

/** Answers false where it was left off because too many directories wait. */
async function empty({ place, fresh, waiting, slice }: Removal, name: Name): Promise<boolean> {
  using folder = place.folder(name)
  assertSameDevice(folder, place)
  const entries = folder.entries()
  const before = waiting.length
  try {
    let files: Promise<unknown>[] = []
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
      if (entry.isDirectory()) moveUp(folder, entry.name, place, fresh, waiting)
      else files.push(unlink(folder.at(entry.name)).catch(passed))
      if (files.length >= width) {
        await Promise.all(files)
        files = []
      }
      if (waiting.length > Math.max(before, mostWaiting)) break
      await slice.pause()
    }
    await Promise.all(files)
    return waiting.length <= Math.max(before, mostWaiting)
  } finally {
    entries.closeSync()
  }
}

/** What somebody mounted inside of a tree is not the tree's. */
function assertSameDevice(folder: Folder, place: Folder): void {
  if (folder.stat().dev !== place.stat().dev)
    throw Object.assign(new Error("Another file system is mounted in what is to be removed"), { code: "EBUSY" })
}

/**
 * An empty directory is removed where it is. What became something else meanwhile is found again
 * when the directory is looked through again.
 */
function moveUp(folder: Folder, name: Name, place: Folder, fresh: () => string, waiting: Name[]): void {
  const code = errorOf(() => rmdirSync(folder.at(name)))
  if (code === undefined || code === "ENOENT") return
  const to = fresh()
  const failed = errorOf(() => {
    changeMode(folder, name, 0o700)
    renameSync(folder.at(name), place.at(to))
  })
  if (failed === undefined) waiting.push(to)
  else if (!swapped.has(failed)) throw Object.assign(new Error(`A directory could not be moved: ${failed}`), { code: failed })
}

const swapped: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"])

/**
 * Changes a directory's mode through a handle on the entry: no link is followed. One that its owner
 * may not write to can be neither moved nor emptied.
 */
export function changeMode(parent: Folder, name: Name, mode: number): void {
  using handle = closing(parent.open(name, O_PATH | constants.O_DIRECTORY))
  chmodSync(`/proc/self/fd/${handle.fd}`, mode)
}

function errorOf(work: () => void): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown"
  }
}

/**
 * What is gone already, or became a directory since it was read: the directory is looked through
 * again.
 */
function passed(error: NodeJS.ErrnoException): true {
  if (error.code === "ENOENT" || error.code === "EISDIR") return true
  throw error
}

/** Closes a descriptor that may be closed already. */
export function closeQuietly(fd: number): void {
  attempt(() => closeSync(fd))
}

/** For what makes no difference when it fails. */
export function attempt(work: () => void): void {
  try {
    work()
  } catch {}
}
