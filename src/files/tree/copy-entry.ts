import { fchmodSync, futimesSync, readlinkSync, symlinkSync } from "node:fs"
import { bounds } from "#contract"
import { notFound } from "../failures.ts"
import { isHidden } from "../requests/address.ts"
import { copyFile } from "./copy-file.ts"
import { type Copied, CopyLimit, type CopyOptions, Tally } from "./copy-totals.ts"
import type { Folder, Name } from "./directory-handle.ts"

/** Each level holds a few descriptors. */
const deepest = bounds.files.levels.value

/** An entry of a directory that is held. */
export interface Spot {
  parent: Folder
  name: Name
}

/**
 * Copies a file or a directory with all below it, by descriptor: regular files and directories
 * only, links and special files are passed over. Content and the nine permission bits are copied,
 * holes stay holes; a whole copy has the links and the times too. `to` must not exist and should be
 * out of others' reach. What was copied before a failure stays.
 */
export async function copyEntry(from: Spot, to: Spot, options: CopyOptions = {}): Promise<Copied> {
  const tally = new Tally(options)
  await copyAny(tally, { from, to, depth: 0 })
  return tally.done
}

async function copyAny(tally: Tally, step: { from: Spot; to: Spot; depth: number }): Promise<void> {
  const { from, to } = step
  const stats = from.parent.look(from.name)
  const isLink = step.depth > 0 && tally.options.whole === true && stats?.isSymbolicLink()
  if (!stats || !(stats.isFile() || stats.isDirectory() || isLink)) return
  tally.entry()
  if (stats.isFile()) await copyFile(tally, from, to)
  else if (isLink) copyLink(from, to)
  else await copyFolder(tally, step)
  await tally.slice.pause()
}

async function copyFolder(tally: Tally, { from, to, depth }: { from: Spot; to: Spot; depth: number }): Promise<void> {
  assertShallow(depth)
  using source = from.parent.folder(from.name)
  to.parent.make(to.name, 0o700)
  using target = to.parent.folder(to.name)
  if (!tally.options.shallow) {
    await eachEntry(source, depth, (name) =>
      copyAny(tally, { from: { parent: source, name }, to: { parent: target, name }, depth: depth + 1 }),
    )
  }
  // Bits beyond the nine, such as set-uid, are not copied.
  const { mode, atime, mtime } = source.stat()
  fchmodSync(target.fd, mode & 0o777)
  if (tally.options.whole) futimesSync(target.fd, atime, mtime)
}

/** Where it leads is between it and whoever follows it, and nobody here does. */
function copyLink(from: Spot, to: Spot): void {
  try {
    symlinkSync(readlinkSync(from.parent.at(from.name), { encoding: "buffer" }), to.parent.at(to.name))
  } catch (error) {
    // No link any more.
    throw (error as NodeJS.ErrnoException).code === "EINVAL" ? notFound() : error
  }
}

/** Calls `visit` for every name but the hidden ones, one after another. */
export async function eachEntry(folder: Folder, depth: number, visit: (name: Buffer) => Promise<void>): Promise<void> {
  const entries = folder.entries()
  try {
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
      if (!isHidden(entry.name.toString(), depth + 1)) await visit(entry.name)
    }
  } finally {
    entries.closeSync()
  }
}

export function assertShallow(depth: number): void {
  if (depth > deepest) throw new CopyLimit(`Directories are nested deeper than ${deepest}`)
}
