import type { Stats } from "node:fs"
import { Failure } from "#contract"
import { notFound } from "../failures.ts"
import type { DirectoryHandle, EntryName } from "./directory-handle.ts"

/** A name in an open directory. */
export interface Entry {
  parent: DirectoryHandle
  name: EntryName
}

/**
 * A name in a directory that is held, and what it was a moment ago. Links and special files do not
 * exist.
 */
export interface EntryLocation extends Disposable {
  parent: DirectoryHandle
  name: string
  /** Undefined where there is nothing that the caller could see. */
  stats: Stats | undefined
  /** Something is there that is neither file nor directory. */
  isSpecial: boolean
}

/**
 * Opens the directory above. `ENOENT` and the like are thrown when there is none. The root itself
 * has no place.
 */
export function locateEntry(root: DirectoryHandle, names: readonly string[]): EntryLocation {
  const name = names.at(-1)
  if (name === undefined) throw new Failure("forbidden", "The files root itself cannot be changed")
  const parent = root.openDescendant(names.slice(0, -1))
  try {
    const found = parent.lstat(name)
    const stats = found && (found.isFile() || found.isDirectory()) ? found : undefined
    return { parent, name, stats, isSpecial: found !== undefined && stats === undefined, [Symbol.dispose]: () => parent[Symbol.dispose]() }
  } catch (error) {
    parent[Symbol.dispose]()
    throw error
  }
}

/** As `placeOf`, for something that will be made: a parent that is missing is a conflict. */
export function locateNewEntry(root: DirectoryHandle, names: readonly string[]): EntryLocation {
  let location: EntryLocation
  try {
    location = locateEntry(root, names)
  } catch (error) {
    if (absent.has((error as NodeJS.ErrnoException).code ?? "")) throw new Failure("conflict", "The directory above does not exist")
    throw error
  }
  if (!location.isSpecial) return location
  location[Symbol.dispose]()
  throw new Failure("conflict", "The name is taken by something that is neither a file nor a directory")
}

/** As `placeOf`, for something that must be there. */
export function locateExistingEntry(root: DirectoryHandle, names: readonly string[]): EntryLocation & { stats: Stats } {
  const location = locateEntry(root, names)
  const { stats } = location
  if (stats) return Object.assign(location, { stats })
  location[Symbol.dispose]()
  throw notFound()
}

const absent = new Set(["ENOENT", "ENOTDIR", "ELOOP"])
