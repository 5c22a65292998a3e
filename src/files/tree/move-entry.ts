import { constants, fstatSync, ftruncateSync, futimesSync } from "node:fs"
import { acquireWriteLease, isOutOfSpace, type QuotaProject, readQuotaProject, writeQuotaProject } from "../storage/quota-project.ts"
import { disposableDescriptor, type EntryName } from "./directory-handle.ts"
import type { Entry } from "./entry-location.ts"
import type { TreeDirectory } from "./tree-directory.ts"

/**
 * Moves a staged entry by `move`. The kernel moves and links nothing into a directory of another
 * project; a file first gets the ID of that project. That waits for programs that write to the
 * file, so it is only for files that no program reaches. `fd`: the file, if it is open for writing.
 * `replaced` is what it replaces. Throws `EXDEV` for a directory of another project, and an error
 * that `isOutOfSpace` if the project has no room.
 */
export async function withLabel(staged: Entry & { fd?: number }, replaced: Entry, move: () => Promise<void>): Promise<void> {
  try {
    await move()
  } catch (error) {
    const project = (error as NodeJS.ErrnoException).code === "EXDEV" ? readQuotaProject(replaced.parent.fd) : undefined
    if (!project?.isInherited || !(await staged.parent.lstat(staged.name))?.isFile()) throw error
    if (staged.fd === undefined) {
      using file = disposableDescriptor(await staged.parent.open(staged.name, constants.O_RDONLY))
      await labelFile(file.fd, project.id, replaced)
    } else await labelTrimmed(staged.fd, () => labelFile(staged.fd as number, project.id, replaced))
    await move()
  }
}

/** Whether the kernel renames the entry into the directory. It decides about a file's project. */
export async function canMove({ parent, name }: Entry, to: TreeDirectory): Promise<boolean> {
  if (parent.stat().dev !== to.stat().dev) return false
  if (!(await parent.lstat(name))?.isDirectory()) return true
  const target = readQuotaProject(to.fd)
  return !target?.isInherited || (await projectOfDirectory(parent, name))?.id === target.id
}

async function projectOfDirectory(parent: TreeDirectory, name: EntryName): Promise<QuotaProject | undefined> {
  using directory = await parent.openDirectory(name)
  return readQuotaProject(directory.fd)
}

/**
 * Without room for two, a file that replaces another one gets that one's, which no longer counts.
 * So nobody may have it open, or by a second name, and go on writing to it.
 */
async function labelFile(fd: number, id: number, to: Entry): Promise<void> {
  const label = () => writeQuotaProject(fd, { id, isInherited: false })
  try {
    label()
  } catch (error) {
    if (!isOutOfSpace(error) || !(await to.parent.lstat(to.name))?.isFile()) throw error
    using replaced = disposableDescriptor(await to.parent.open(to.name, constants.O_RDONLY))
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
async function labelTrimmed(fd: number, label: () => Promise<void>): Promise<void> {
  try {
    await label()
  } catch (error) {
    const { size, atime, mtime } = fstatSync(fd)
    if (!isOutOfSpace(error)) throw error
    ftruncateSync(fd, size)
    futimesSync(fd, atime, mtime)
    await label()
  }
}
