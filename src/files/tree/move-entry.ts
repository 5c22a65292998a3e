import { constants, fstatSync, ftruncateSync, futimesSync, renameSync } from "node:fs"
import { acquireWriteLease, isOutOfSpace, type QuotaProject, readQuotaProject, writeQuotaProject } from "../storage/quota-project.ts"
import { type DirectoryHandle, disposableDescriptor, type EntryName } from "./directory-handle.ts"
import type { Entry } from "./entry-location.ts"

/**
 * Renames an entry. The kernel renames nothing into a directory of another project, such as an
 * upload from the staging area; a file first gets the ID of that project. `fd`: the file, if it is
 * open for writing. Throws `EXDEV` for a directory of another project, and an error that
 * `isOutOfSpace` if the project has no room.
 */
export function moveEntry(from: Entry & { fd?: number }, to: Entry): void {
  const rename = () => renameSync(from.parent.pathTo(from.name), to.parent.pathTo(to.name))
  try {
    rename()
  } catch (error) {
    const project = (error as NodeJS.ErrnoException).code === "EXDEV" ? readQuotaProject(to.parent.fd) : undefined
    if (!project?.isInherited || !from.parent.lstat(from.name)?.isFile()) throw error
    if (from.fd === undefined) {
      using file = disposableDescriptor(from.parent.open(from.name, constants.O_RDONLY))
      labelFile(file.fd, project.id, to)
    } else labelTrimmed(from.fd, () => labelFile(from.fd as number, project.id, to))
    rename()
  }
}

/** Whether the kernel renames the entry into the directory, perhaps with another ID. */
export function canMove({ parent, name }: Entry, to: DirectoryHandle): boolean {
  if (parent.stat().dev !== to.stat().dev) return false
  if (!parent.lstat(name)?.isDirectory()) return true
  const target = readQuotaProject(to.fd)
  return !target?.isInherited || projectOfDirectory(parent, name)?.id === target.id
}

function projectOfDirectory(parent: DirectoryHandle, name: EntryName): QuotaProject | undefined {
  using directory = parent.openDirectory(name)
  return readQuotaProject(directory.fd)
}

/**
 * Without room for two, a file that replaces another one gets that one's, which no longer counts.
 * So nobody may have it open, or by a second name, and go on writing to it.
 */
function labelFile(fd: number, id: number, to: Entry): void {
  const label = () => writeQuotaProject(fd, { id, isInherited: false })
  try {
    label()
  } catch (error) {
    if (!isOutOfSpace(error) || !to.parent.lstat(to.name)?.isFile()) throw error
    using replaced = disposableDescriptor(to.parent.open(to.name, constants.O_RDONLY))
    const before = readQuotaProject(replaced.fd)
    if (before?.id !== id || !acquireWriteLease(replaced.fd) || fstatSync(replaced.fd).nlink > 1) throw error
    writeQuotaProject(replaced.fd, { ...before, id: 0 })
    try {
      label()
    } catch (again) {
      writeQuotaProject(replaced.fd, before)
      throw again
    }
  }
}

/** XFS allocates up to twice a growing file's size until it is closed or truncated. */
function labelTrimmed(fd: number, label: () => void): void {
  try {
    label()
  } catch (error) {
    const { size, atime, mtime } = fstatSync(fd)
    if (!isOutOfSpace(error)) throw error
    ftruncateSync(fd, size)
    futimesSync(fd, atime, mtime)
    label()
  }
}
