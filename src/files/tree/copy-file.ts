import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  open,
  read,
  readSync,
  type Stats,
  statfsSync,
  write,
  writeSync,
} from "node:fs"
import { promisify } from "node:util"
import { copySparseFile } from "./copy-sparse.ts"
import { bytesOnDisk, type CopyCounter } from "./copy-totals.ts"
import { type DirectoryHandle, safeOpenFlags } from "./directory-handle.ts"
import type { Entry } from "./entry-location.ts"

const openFile = promisify(open)
const readBytes = promisify(read)
const writeBytes = promisify(write)

const chunkBytes = 2 ** 20
const smallFileBytes = 2 ** 16
/** Holes of smaller files are found by reading them. */
const largeFileBytes = 2 ** 24

/** Copies a regular file with its nine permission bits; skips any other kind of entry. */
export async function copyFile(counter: CopyCounter, from: Entry, to: Entry): Promise<void> {
  const source = from.parent.open(from.name, constants.O_RDONLY)
  try {
    const stats = fstatSync(source)
    if (!stats.isFile()) return
    assertFits(counter, bytesOnDisk(stats), to.parent)
    const target = await makeFile(counter, to)
    try {
      await copyContent(counter, { source, target, stats })
      fchmodSync(target, stats.mode & 0o777)
      if (counter.options.preserveLinksAndTimes) futimesSync(target, stats.atime, stats.mtime)
    } finally {
      closeSync(target)
    }
  } finally {
    closeSync(source)
  }
}

/**
 * A new file waits for the file system's journal during flushes, so the first one of a copy is made
 * by the thread pool: a person may copy single files one after another. In a tree, whose copy takes
 * little of the time, a hop for each file would double it.
 */
async function makeFile({ totals }: CopyCounter, { parent, name }: Entry): Promise<number> {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL
  return totals.entries === 1 ? openFile(parent.pathTo(name), flags | safeOpenFlags, 0o600) : parent.open(name, flags, 0o600)
}

interface OpenFiles {
  source: number
  target: number
  stats: Stats
}

async function copyContent(counter: CopyCounter, file: OpenFiles): Promise<void> {
  const { stats } = file
  const sparse = bytesOnDisk(stats) < stats.size
  if (stats.size <= smallFileBytes) copySmall(counter, file)
  else if (!(sparse && stats.size > largeFileBytes && (await copySparseFile(counter, file)))) await copyBytes(counter, file, sparse)
}

/** Fails before the first byte is copied if the file cannot fit. */
function assertFits(counter: CopyCounter, bytes: number, location: DirectoryHandle): void {
  counter.assertRoomFor(bytes)
  if (bytes <= chunkBytes) return
  const { bavail, bsize } = statfsSync(location.path)
  if (bytes > bavail * bsize) throw Object.assign(new Error("The copy does not fit on the disk"), { code: "ENOSPC" })
}

function copySmall(counter: CopyCounter, { source, target }: OpenFiles): void {
  const length = readSync(source, bufferOfSmall, 0, smallFileBytes, 0)
  counter.addBytes(length)
  for (let done = 0; done < length; ) done += writeSync(target, bufferOfSmall, done, length - done)
}
/** Shared, since it is filled and emptied within one turn of the event loop. */
const bufferOfSmall = Buffer.allocUnsafeSlow(smallFileBytes)

async function copyBytes(counter: CopyCounter, { source, target, stats }: OpenFiles, sparse: boolean): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(chunkBytes)
  for (let position = 0; position < stats.size; ) {
    counter.options.signal?.throwIfAborted()
    const { bytesRead } = await readBytes(source, buffer, 0, chunkBytes, position)
    if (bytesRead === 0) break
    const isHole = sparse && zeros.subarray(0, bytesRead).equals(buffer.subarray(0, bytesRead))
    if (!isHole) counter.addBytes(bytesRead)
    for (let done = 0; !isHole && done < bytesRead; ) {
      done += (await writeBytes(target, buffer, done, bytesRead - done, position + done)).bytesWritten
    }
    position += bytesRead
    if (isHole) ftruncateSync(target, position)
    counter.reportProgress()
  }
}
const zeros = Buffer.alloc(chunkBytes)
