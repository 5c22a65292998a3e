import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  read,
  readSync,
  type Stats,
  statfsSync,
  write,
  writeSync,
} from "node:fs"
import { promisify } from "node:util"
import { isHidden } from "./address.ts"
import type { Folder, Name } from "./descriptor.ts"
import type { Owner } from "./messages.ts"
import { Slice } from "./slice.ts"

const readBytes = promisify(read)
const writeBytes = promisify(write)

const piece = 2 ** 20
const small = 2 ** 16
/** Each level holds a few descriptors. */
const deepest = 100

export interface CopyOptions {
  /** Who the copies belong to; default: this process. */
  owner?: Owner | undefined
  /** Only the entry itself, a directory without its content. */
  shallow?: boolean
  maxBytes?: number
  maxEntries?: number
  signal?: AbortSignal
  /** Called now and then with what was copied so far. */
  onProgress?(done: Copied): void
}

export interface Copied {
  entries: number
  bytes: number
}

/** The tree holds more than may be copied, or is deeper than that. */
export class CopyLimit extends Error {
  override readonly name = "CopyLimit"
}

/** An entry of a directory that is held. */
export interface Spot {
  parent: Folder
  name: Name
}

interface Work {
  options: CopyOptions
  done: Copied
  slice: Slice
  buffer: Buffer
}

/**
 * Copies a file or a directory with all below it, by descriptor: regular files and directories only, links and special files are passed over. Content and the
 * nine permission bits are copied, holes stay holes. `to` must not exist and should be out of others' reach. What was copied before a failure stays.
 */
export async function copyEntry(from: Spot, to: Spot, options: CopyOptions = {}): Promise<Copied> {
  const work: Work = { options, done: { entries: 0, bytes: 0 }, slice: new Slice(), buffer: Buffer.allocUnsafeSlow(piece) }
  await copyAny(work, { from, to, depth: 0 })
  return work.done
}

async function copyAny(work: Work, step: { from: Spot; to: Spot; depth: number }): Promise<void> {
  const { from, to, depth } = step
  work.options.signal?.throwIfAborted()
  const stats = from.parent.look(from.name)
  if (!stats || !(stats.isFile() || stats.isDirectory())) return
  count(work)
  if (stats.isFile()) await copyFile(work, from, to)
  else await copyFolder(work, { from, to, depth })
  await work.slice.pause()
}

function count(work: Work): void {
  work.done.entries += 1
  const { maxEntries = Number.POSITIVE_INFINITY, onProgress } = work.options
  if (work.done.entries > maxEntries) throw new CopyLimit(`There are more than ${maxEntries} files and directories`)
  if (work.done.entries % 100 === 0) onProgress?.(work.done)
}

async function copyFolder(work: Work, step: { from: Spot; to: Spot; depth: number }): Promise<void> {
  const { from, to, depth } = step
  if (depth > deepest) throw new CopyLimit(`Directories are nested deeper than ${deepest}`)
  using source = from.parent.folder(from.name)
  to.parent.make(to.name, 0o700)
  using target = to.parent.folder(to.name)
  const entries = work.options.shallow ? undefined : source.entries()
  try {
    for (let entry = entries?.readSync(); entry; entry = entries?.readSync()) {
      const { name } = entry
      if (isHidden(name.toString(), depth + 1)) continue
      await copyAny(work, { from: { parent: source, name }, to: { parent: target, name }, depth: depth + 1 })
    }
  } finally {
    entries?.closeSync()
  }
  own(work, target.fd, source.stat())
}

async function copyFile(work: Work, from: Spot, to: Spot): Promise<void> {
  const source = from.parent.open(from.name, constants.O_RDONLY)
  try {
    const stats = fstatSync(source)
    if (!stats.isFile()) return
    assertFits(work, stats.size, to.parent)
    const target = to.parent.open(to.name, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
    try {
      if (stats.size <= small) copySmall(work, source, target)
      else await copyBytes(work, { source, target, stats })
      own(work, target, stats)
    } finally {
      closeSync(target)
    }
  } finally {
    closeSync(source)
  }
}

/** Before the first byte: a file may claim any length and consist of holes. */
function assertFits(work: Work, size: number, place: Folder): void {
  const { maxBytes = Number.POSITIVE_INFINITY } = work.options
  if (work.done.bytes + size > maxBytes) throw new CopyLimit(`There are more than ${maxBytes} bytes`)
  if (size <= piece) return
  const { bavail, bsize } = statfsSync(place.self)
  if (size > bavail * bsize) throw Object.assign(new Error("The copy would not fit"), { code: "ENOSPC" })
}

/** Bits beyond the nine, such as set-uid, are not copied. */
function own(work: Work, fd: number, stats: Stats): void {
  const { owner } = work.options
  if (owner && process.getuid?.() === 0) fchownSync(fd, owner.uid, owner.gid)
  fchmodSync(fd, stats.mode & 0o777)
}

function copySmall(work: Work, source: number, target: number): void {
  const length = readSync(source, work.buffer, 0, small, 0)
  progress(work, length)
  for (let done = 0; done < length; ) done += writeSync(target, work.buffer, done, length - done)
}

async function copyBytes(work: Work, file: { source: number; target: number; stats: Stats }): Promise<void> {
  const { source, target, stats } = file
  const sparse = stats.blocks * 512 < stats.size
  for (let position = 0; position < stats.size; ) {
    work.options.signal?.throwIfAborted()
    const { bytesRead } = await readBytes(source, work.buffer, 0, piece, position)
    if (bytesRead === 0) break
    progress(work, bytesRead)
    const hole = sparse && zeros.subarray(0, bytesRead).equals(work.buffer.subarray(0, bytesRead))
    for (let done = 0; !hole && done < bytesRead; ) {
      done += (await writeBytes(target, work.buffer, done, bytesRead - done, position + done)).bytesWritten
    }
    position += bytesRead
    if (hole) ftruncateSync(target, position)
  }
}
const zeros = Buffer.alloc(piece)

function progress(work: Work, bytes: number): void {
  work.done.bytes += bytes
  if (bytes >= piece) work.options.onProgress?.(work.done)
}
