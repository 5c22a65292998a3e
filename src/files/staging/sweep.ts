import { readlinkSync } from "node:fs"
import { fileFailure } from "../failures.ts"
import { reservedPrefix } from "../requests/address.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { namesIn } from "../tree/names-in.ts"
import { removeTree } from "../tree/remove-tree.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"

/** Ends the name of a note, a link to the place of a replaced entry. */
export const noteSuffix = ".from"
/** Begins the name of a folder for the entries of one owner. */
export const folderPrefix = "of-"
/** The owner of the sweep's calls. */
export const sweeper = "sweep"

/**
 * Restores the entries that an ended worker was replacing, and removes the rest of its directory.
 * Rejects when an entry cannot be restored: it stays for the next sweep.
 */
export async function removeLeftovers(root: TreeDirectory, work: DirectoryHandle, id: string): Promise<void> {
  using left = work.openDirectory(id)
  const failures: unknown[] = []
  for (const name of namesIn(left).filter((each) => each.startsWith(folderPrefix))) {
    using folder = left.openDirectory(name)
    const isRestored = await restoreAll(root, folder).catch((error: unknown) => void failures.push(error))
    if (isRestored) await removeTree(TreeDirectory.of(left, sweeper), name, nameSequence(name))
  }
  await restoreAll(root, left)
  if (failures.length > 0) throw failures[0]
  for (const name of namesIn(left)) if (left.lstat(name)?.isSymbolicLink()) await removeBeside(root, { left, id }, name)
  await removeTree(TreeDirectory.of(work, sweeper), id, nameSequence(id))
}

async function restoreAll(root: TreeDirectory, folder: DirectoryHandle): Promise<true> {
  for (const name of namesIn(folder)) if (name.endsWith(noteSuffix)) await restoreReplaced(root, folder, name)
  return true
}

/** Unless the entry's name is taken, or its directory is gone. */
async function restoreReplaced(root: TreeDirectory, folder: DirectoryHandle, note: string): Promise<void> {
  try {
    const target = targetBelow(root, folder, note)
    const name = target?.at(-1)
    if (!target || name === undefined) return
    using parent = await root.openDescendant(target.slice(0, -1))
    if (await parent.lstat(name)) return
    const trash = note.slice(0, -noteSuffix.length)
    if (folder.lstat(trash)) await TreeDirectory.of(folder, sweeper).rename(trash, parent, name)
    else await parent.rename(trash, parent, name)
  } catch (error) {
    if (fileFailure(error)?.code !== "not_found") throw error
  }
}

/** The target of a link in a worker's directory, as names below the root. */
function targetBelow(root: { readonly path: string }, left: DirectoryHandle, link: string): string[] | undefined {
  const rootPath = readlinkSync(root.path)
  const target = readlinkSync(left.pathTo(link))
  return target.startsWith(`${rootPath}/`) ? target.slice(rootPath.length + 1).split("/") : undefined
}

/** The directory of an ended worker. */
interface Leftovers {
  left: DirectoryHandle
  id: string
}

/** The marker names the directory; the ended worker's entries there have its ID in their names. */
async function removeBeside(root: TreeDirectory, { left, id }: Leftovers, marker: string): Promise<void> {
  const target = targetBelow(root, left, marker)
  if (!target) return
  try {
    using directory = await root.openDescendant(target)
    const prefix = `${reservedPrefix}${id}-`
    const own: string[] = []
    for await (const batch of directory.batches())
      own.push(...batch.map(({ name }) => name.toString()).filter((name) => name.startsWith(prefix)))
    for (const name of own) await removeTree(directory, name, nameSequence(name))
  } catch (error) {
    if (!fileFailure(error)) throw error
  }
}

function nameSequence(name: string): () => string {
  let count = 0
  return () => {
    count += 1
    return `${name}-s${count}`
  }
}
