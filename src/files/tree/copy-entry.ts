import { fchmod, futimes } from "node:fs"
import { promisify } from "node:util"
import { bounds } from "#contract"
import { notFound } from "../failures.ts"
import { isReservedName } from "../requests/address.ts"
import { copyFile } from "./copy-file.ts"
import { CopyCounter, CopyLimitError, type CopyTotals, type EntryCopyOptions } from "./copy-totals.ts"
import type { Entry } from "./entry-location.ts"
import type { TreeDirectory } from "./tree-directory.ts"

const changeMode = promisify(fchmod)
const changeTimes = promisify(futimes)

/** Each level needs a few descriptors. */
const maxLevels = bounds.files.levels.value

/**
 * Copies a file or a directory tree, by descriptor. Only regular files and directories are copied;
 * links and special files are skipped. Content, the nine permission bits and holes are preserved.
 * `preserveLinksAndTimes` also copies links and times. `to` must not exist and should be out of
 * others' reach. After a failure the part already copied remains.
 */
export async function copyEntry(from: Entry, to: Entry, options: EntryCopyOptions = {}): Promise<CopyTotals> {
  const counter = new CopyCounter(options)
  await copyAny(counter, { from, to, depth: 0 })
  return counter.totals
}

async function copyAny(counter: CopyCounter, step: { from: Entry; to: Entry; depth: number }): Promise<void> {
  const { from, to } = step
  const stats = await from.parent.lstat(from.name)
  const isLink = step.depth > 0 && counter.options.preserveLinksAndTimes === true && stats?.isSymbolicLink()
  if (!stats || !(stats.isFile() || stats.isDirectory() || isLink)) return
  counter.addEntry()
  if (stats.isFile()) await copyFile(counter, from, to)
  else if (isLink) await copyLink(from, to)
  else await copyDirectory(counter, step)
  await counter.yielder.pause()
}

async function copyDirectory(counter: CopyCounter, { from, to, depth }: { from: Entry; to: Entry; depth: number }): Promise<void> {
  assertDepth(depth)
  using source = await from.parent.openDirectory(from.name)
  await to.parent.makeDirectory(to.name, 0o700)
  using target = await to.parent.openDirectory(to.name)
  if (!counter.options.withoutContent) {
    await forEachEntry(source, depth, (name) =>
      copyAny(counter, { from: { parent: source, name }, to: { parent: target, name }, depth: depth + 1 }),
    )
  }
  // Bits beyond the nine, such as set-uid, are not copied.
  const { mode, atime, mtime } = source.stat()
  await target.inTurn(async () => {
    await changeMode(target.fd, mode & 0o777)
    if (counter.options.preserveLinksAndTimes) await changeTimes(target.fd, atime, mtime)
  })
}

/** Nothing in this server follows the link, so its target does not matter. */
async function copyLink(from: Entry, to: Entry): Promise<void> {
  try {
    await to.parent.makeLink(to.name, await from.parent.readLink(from.name))
  } catch (error) {
    // The entry is no longer a link.
    throw (error as NodeJS.ErrnoException).code === "EINVAL" ? notFound() : error
  }
}

/** Calls `visit` for every name but the reserved ones, one after another. */
export async function forEachEntry(directory: TreeDirectory, depth: number, visit: (name: Buffer) => Promise<void>): Promise<void> {
  for await (const batch of directory.batches())
    for (const { name } of batch) if (!isReservedName(name.toString(), depth + 1)) await visit(name)
}

export function assertDepth(depth: number): void {
  if (depth > maxLevels) throw new CopyLimitError(`Directories are nested deeper than ${maxLevels}`)
}
