import type { Stats } from "node:fs"
import { Failure } from "#contract"
import { notFound } from "../failures.ts"
import type { EntryName } from "./directory-handle.ts"
import type { TreeDirectory } from "./tree-directory.ts"

/** A name in an open directory. */
export interface Entry {
  parent: TreeDirectory
  name: EntryName
}

/**
 * A name in an open directory and its stats when it was looked up. Links and special files count as
 * missing.
 */
export interface EntryLocation extends Disposable {
  parent: TreeDirectory
  name: string
  /** Undefined when there is no file or directory. */
  stats: Stats | undefined
  /** Something is there that is neither file nor directory. */
  isSpecial: boolean
}

/**
 * Opens the parent directory. Throws `ENOENT` and the like when there is none. The root itself
 * cannot be located.
 */
export async function locateEntry(root: TreeDirectory, names: readonly string[]): Promise<EntryLocation> {
  const name = names.at(-1)
  if (name === undefined) throw new Failure("forbidden", "The files root itself cannot be changed")
  const parent = await root.openDescendant(names.slice(0, -1))
  try {
    const found = await parent.lstat(name)
    const stats = found && (found.isFile() || found.isDirectory()) ? found : undefined
    return { parent, name, stats, isSpecial: found !== undefined && stats === undefined, [Symbol.dispose]: () => parent[Symbol.dispose]() }
  } catch (error) {
    parent[Symbol.dispose]()
    throw error
  }
}

/** Like `locateEntry`, for an entry to be created: a missing parent is a conflict. */
export async function locateNewEntry(root: TreeDirectory, names: readonly string[]): Promise<EntryLocation> {
  let location: EntryLocation
  try {
    location = await locateEntry(root, names)
  } catch (error) {
    if (absent.has((error as NodeJS.ErrnoException).code ?? "")) throw new Failure("conflict", "The directory above does not exist")
    throw error
  }
  if (!location.isSpecial) return location
  location[Symbol.dispose]()
  throw new Failure("conflict", "The name is taken by something that is neither a file nor a directory")
}

/** Like `locateEntry`, for an entry that must exist. */
export async function locateExistingEntry(root: TreeDirectory, names: readonly string[]): Promise<EntryLocation & { stats: Stats }> {
  const location = await locateEntry(root, names)
  const { stats } = location
  if (stats) return Object.assign(location, { stats })
  location[Symbol.dispose]()
  throw notFound()
}

const absent = new Set(["ENOENT", "ENOTDIR", "ELOOP"])
