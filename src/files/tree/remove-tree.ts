import { renameSync, rmdirSync } from "node:fs"
import { unlink } from "node:fs/promises"
import { Semaphore, Yielder } from "#kit"
import type { DirectoryHandle, EntryName } from "./directory-handle.ts"

/** Names of one directory that wait to be removed. */
const parallelUnlinks = 32
/**
 * Of all removals together: everybody's uploads wait for the thread pool, which has few threads.
 */
const unlinks = new Semaphore(parallelUnlinks)
/** A directory that a program fills again as often stays. */
const maxAttempts = 3
/**
 * With so many directories pending, another is only added when the removal could not continue
 * without it. So a million directories need no list of a million names.
 */
const maxPending = 1_000

/**
 * Removes an entry of `location` and everything below it, by descriptor. Each directory found on
 * the way is first moved up into `location` under a new name, so two descriptors suffice for any
 * depth. `location` should be out of others' reach. Returns the names that could not be removed
 * because programs inside keep changing them.
 */
export async function removeTree(
  location: DirectoryHandle,
  names: EntryName | readonly EntryName[],
  newName: () => string,
): Promise<EntryName[]> {
  const pending = Array.isArray(names) ? [...(names as EntryName[])] : [names as EntryName]
  const removal: Removal = { location, newName, pending, yielder: new Yielder() }
  const left: EntryName[] = []
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (!(await removeOne(removal, next))) left.push(next)
  }
  return left
}

interface Removal {
  location: DirectoryHandle
  newName: () => string
  /** Names in `location`; the last one is next. */
  pending: EntryName[]
  yielder: Yielder
}

async function removeOne(removal: Removal, name: EntryName): Promise<boolean> {
  const { location, pending } = removal
  const stats = location.lstat(name)
  if (!stats) return true
  if (!stats.isDirectory()) {
    await untilRemoved([unlinkInTurn(location.pathTo(name))])
    return true
  }
  location.chmodDirectory(name, 0o700)
  const position = pending.length
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    if (!(await emptyDirectory(removal, name))) {
      // Tried again after the directories that were found in it.
      pending.splice(position, 0, name)
      return true
    }
    const code = errorOf(() => rmdirSync(location.pathTo(name)))
    if (code === undefined || code === "ENOENT") return true
    if (code !== "ENOTEMPTY") throw Object.assign(new Error(`A directory could not be removed: ${code}`), { code })
  }
  return false
}

/** Returns false when it stopped because too many directories are pending. */
async function emptyDirectory({ location, newName, pending, yielder }: Removal, name: EntryName): Promise<boolean> {
  using directory = location.openDirectory(name)
  assertSameDevice(directory, location)
  const entries = directory.readEntries()
  const before = pending.length
  let files: Promise<unknown>[] = []
  try {
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
      if (entry.isDirectory()) moveUp(directory, entry.name, location, newName, pending)
      else files.push(unlinkInTurn(directory.pathTo(entry.name)))
      if (files.length >= parallelUnlinks) {
        await untilRemoved(files)
        files = []
      }
      if (pending.length > Math.max(before, maxPending)) break
      await yielder.pause()
    }
    await untilRemoved(files)
    return pending.length <= Math.max(before, maxPending)
  } finally {
    // Their paths have the number of this descriptor, which may be another directory's afterwards.
    await Promise.all(files)
    entries.closeSync()
  }
}

/** Resolves with the error, if there is one: it may come before anybody waits. */
function unlinkInTurn(path: EntryName): Promise<unknown> {
  return unlinks
    .run(() => unlink(path))
    .then(
      () => undefined,
      (error) => (isGone(error) ? undefined : error),
    )
}

async function untilRemoved(files: readonly Promise<unknown>[]): Promise<void> {
  const error = (await Promise.all(files)).find((each) => each !== undefined)
  if (error !== undefined) throw error
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
function moveUp(directory: DirectoryHandle, name: EntryName, location: DirectoryHandle, newName: () => string, pending: EntryName[]): void {
  const code = errorOf(() => rmdirSync(directory.pathTo(name)))
  if (code === undefined || code === "ENOENT") return
  const to = newName()
  const failed = errorOf(() => {
    directory.chmodDirectory(name, 0o700)
    renameSync(directory.pathTo(name), location.pathTo(to))
  })
  if (failed === undefined) pending.push(to)
  else if (!swappedCodes.has(failed)) throw Object.assign(new Error(`A directory could not be moved: ${failed}`), { code: failed })
}

const swappedCodes: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"])

function errorOf(work: () => void): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown"
  }
}

/** Also true of an entry that became a directory: the next pass over the directory finds it. */
function isGone({ code }: NodeJS.ErrnoException): boolean {
  return code === "ENOENT" || code === "EISDIR"
}
