import { chmodSync, closeSync, constants, renameSync, rmdirSync } from "node:fs"
import { unlink } from "node:fs/promises"
import { Yielder } from "../requests/yielder.ts"
import { type DirectoryHandle, disposableDescriptor, type EntryName } from "./directory-handle.ts"

/** `open(2)`: a handle on the entry itself, needing no right on it. */
const O_PATH = 0o10000000
const parallelUnlinks = 32
/**
 * With so many directories pending, another is only added when the removal could not continue
 * without it. So a million directories need no list of a million names.
 */
const maxPending = 1_000

/**
 * Removes an entry of `location` and everything below it, by descriptor. Each directory found on
 * the way is first moved up into `location` under a fresh name, so two descriptors suffice for any
 * depth. `location` should be out of others' reach. Returns the names that could not be removed
 * because programs inside keep changing them.
 */
export async function removeTree(
  location: DirectoryHandle,
  names: EntryName | readonly EntryName[],
  fresh: () => string,
): Promise<EntryName[]> {
  const waiting = Array.isArray(names) ? [...(names as EntryName[])] : [names as EntryName]
  const removal: Removal = { location, fresh, waiting, slice: new Yielder() }
  const left: EntryName[] = []
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (!(await removeOne(removal, next))) left.push(next)
  }
  return left
}

interface Removal {
  location: DirectoryHandle
  fresh: () => string
  /** Names in `location`; the last one is next. */
  waiting: EntryName[]
  slice: Yielder
}

async function removeOne(removal: Removal, name: EntryName): Promise<boolean> {
  const { location, waiting } = removal
  const stats = location.lstat(name)
  if (!stats) return true
  if (!stats.isDirectory()) return unlink(location.pathTo(name)).then(() => true, ignoreGone)
  changeMode(location, name, 0o700)
  const below = waiting.length
  for (let ignoreErrors = 0; ignoreErrors < 3; ignoreErrors += 1) {
    if (!(await emptyDirectory(removal, name))) {
      // Its turn comes again when those that were found in it are gone.
      waiting.splice(below, 0, name)
      return true
    }
    const code = errorOf(() => rmdirSync(location.pathTo(name)))
    if (code === undefined || code === "ENOENT") return true
    if (code !== "ENOTEMPTY") throw Object.assign(new Error(`A directory could not be removed: ${code}`), { code })
  }
  return false
}

/** Returns false when it stopped because too many directories are pending. */
async function emptyDirectory({ location, fresh, waiting, slice }: Removal, name: EntryName): Promise<boolean> {
  using directory = location.openDirectory(name)
  assertSameDevice(directory, location)
  const entries = directory.readEntries()
  const before = waiting.length
  try {
    let files: Promise<unknown>[] = []
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
      if (entry.isDirectory()) moveUp(directory, entry.name, location, fresh, waiting)
      else files.push(unlink(directory.pathTo(entry.name)).catch(ignoreGone))
      if (files.length >= parallelUnlinks) {
        await Promise.all(files)
        files = []
      }
      if (waiting.length > Math.max(before, maxPending)) break
      await slice.pause()
    }
    await Promise.all(files)
    return waiting.length <= Math.max(before, maxPending)
  } finally {
    entries.closeSync()
  }
}

/** Another file system mounted inside the tree does not belong to it. */
function assertSameDevice(directory: DirectoryHandle, location: DirectoryHandle): void {
  if (directory.stat().dev !== location.stat().dev)
    throw Object.assign(new Error("Another file system is mounted in what is to be removed"), { code: "EBUSY" })
}

/**
 * Removes an empty directory in its place. If the entry changed meanwhile, the next pass over the
 * directory finds it again.
 */
function moveUp(directory: DirectoryHandle, name: EntryName, location: DirectoryHandle, fresh: () => string, waiting: EntryName[]): void {
  const code = errorOf(() => rmdirSync(directory.pathTo(name)))
  if (code === undefined || code === "ENOENT") return
  const to = fresh()
  const failed = errorOf(() => {
    changeMode(directory, name, 0o700)
    renameSync(directory.pathTo(name), location.pathTo(to))
  })
  if (failed === undefined) waiting.push(to)
  else if (!swappedCodes.has(failed)) throw Object.assign(new Error(`A directory could not be moved: ${failed}`), { code: failed })
}

const swappedCodes: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"])

/**
 * Changes a directory's mode through a handle on the entry: no link is followed. One that its owner
 * may not write to can be neither moved nor emptied.
 */
export function changeMode(parent: DirectoryHandle, name: EntryName, mode: number): void {
  using handle = disposableDescriptor(parent.open(name, O_PATH | constants.O_DIRECTORY))
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
 * Ignores an entry that is gone, or became a directory: the next pass over the directory finds it.
 */
function ignoreGone(error: NodeJS.ErrnoException): true {
  if (error.code === "ENOENT" || error.code === "EISDIR") return true
  throw error
}

/** Closes a descriptor that may be closed already. */
export function closeQuietly(fd: number): void {
  ignoreErrors(() => closeSync(fd))
}

/** For work whose failure makes no difference. */
export function ignoreErrors(work: () => void): void {
  try {
    work()
  } catch {}
}
