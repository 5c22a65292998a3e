import { Yielder } from "#kit"
import type { EntryName } from "./directory-handle.ts"
import type { TreeDirectory } from "./tree-directory.ts"

/** Names of one directory that wait to be removed. */
const parallelUnlinks = 32
/** A directory that a program fills again as often stays. */
const maxAttempts = 3
/**
 * With so many directories pending, another is only added when the removal could not continue
 * without it. So a million directories need no list of a million names.
 */
const maxPending = 1_000
/** The mode that lets an owner move and empty a directory. */
const ownerMayAll = 0o700

/**
 * Removes an entry of `location` and everything below it, by descriptor. Each directory found on
 * the way is first moved up into `location` under a new name, so two descriptors suffice for any
 * depth. `location` should be out of others' reach; what is in it need not be. Returns the names
 * that could not be removed because programs inside keep changing them.
 */
export async function removeTree(
  location: TreeDirectory,
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
  location: TreeDirectory
  newName: () => string
  /** Names in `location`; the last one is next. */
  pending: EntryName[]
  yielder: Yielder
}

async function removeOne(removal: Removal, name: EntryName): Promise<boolean> {
  const { location, pending } = removal
  const stats = await location.lstat(name)
  if (!stats) return true
  if (!stats.isDirectory()) {
    await untilRemoved([unlink(location, name)])
    return true
  }
  if ((stats.mode & ownerMayAll) !== ownerMayAll) await location.chmodDirectory(name, ownerMayAll)
  const position = pending.length
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    if (!(await emptyDirectory(removal, name))) {
      // Tried again after the directories that were found in it.
      pending.splice(position, 0, name)
      return true
    }
    const code = await errorOf(location.removeDirectory(name))
    if (code === undefined || code === "ENOENT") return true
    if (code !== "ENOTEMPTY") throw Object.assign(new Error(`A directory could not be removed: ${code}`), { code })
  }
  return false
}

/** Returns false when it stopped because too many directories are pending. */
async function emptyDirectory(removal: Removal, name: EntryName): Promise<boolean> {
  const { location, pending, yielder } = removal
  using directory = await location.openDirectory(name)
  assertSameDevice(directory, location)
  const before = pending.length
  let files: Promise<unknown>[] = []
  try {
    for await (const batch of directory.batches()) {
      for (const entry of batch) {
        if (entry.isDirectory()) await moveUp(removal, directory, entry.name)
        else files.push(unlink(directory, entry.name))
        if (files.length >= parallelUnlinks) {
          await untilRemoved(files)
          files = []
        }
        if (pending.length > Math.max(before, maxPending)) break
        await yielder.pause()
      }
      if (pending.length > Math.max(before, maxPending)) break
    }
    await untilRemoved(files)
    return pending.length <= Math.max(before, maxPending)
  } finally {
    // Their paths have the number of this descriptor, which may be another directory's afterwards.
    await Promise.all(files)
  }
}

/** Resolves with the error, if there is one: it may come before anybody waits. */
function unlink(directory: TreeDirectory, name: EntryName): Promise<unknown> {
  return directory.unlink(name).then(
    () => undefined,
    (error) => (isGone(error) ? undefined : error),
  )
}

async function untilRemoved(files: readonly Promise<unknown>[]): Promise<void> {
  const error = (await Promise.all(files)).find((each) => each !== undefined)
  if (error !== undefined) throw error
}

/** Another file system mounted inside the tree does not belong to it. */
function assertSameDevice(directory: TreeDirectory, location: TreeDirectory): void {
  if (directory.stat().dev !== location.stat().dev)
    throw Object.assign(new Error("Another file system is mounted in what is to be removed"), { code: "EBUSY" })
}

/**
 * Removes an empty directory in its place. If the entry changed meanwhile, the next pass over the
 * directory finds it again.
 */
async function moveUp({ location, newName, pending }: Removal, directory: TreeDirectory, name: EntryName): Promise<void> {
  const code = await errorOf(directory.removeDirectory(name))
  if (code === undefined || code === "ENOENT") return
  const to = newName()
  const move = () => errorOf(directory.rename(name, location, to))
  let failed = await move()
  // A directory that its owner may not write to cannot be moved.
  if (failed === "EACCES") failed = (await errorOf(directory.chmodDirectory(name, ownerMayAll))) ?? (await move())
  if (failed === undefined) pending.push(to)
  else if (!swappedCodes.has(failed)) throw Object.assign(new Error(`A directory could not be moved: ${failed}`), { code: failed })
}

const swappedCodes: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"])

async function errorOf(work: Promise<void>): Promise<string | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown"
  }
}

/** Also true of an entry that became a directory: the next pass over the directory finds it. */
function isGone({ code }: NodeJS.ErrnoException): boolean {
  return code === "ENOENT" || code === "EISDIR"
}
