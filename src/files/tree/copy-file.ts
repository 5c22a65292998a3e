import { close, constants, fchmod, fstatSync, ftruncate, futimes, open, read, type Stats, statfsSync, write } from "node:fs"
import { promisify } from "node:util"
import { readCached } from "./cached-calls.ts"
import { copySparseFile } from "./copy-sparse.ts"
import { bytesOnDisk, type CopyCounter } from "./copy-totals.ts"
import { disposableDescriptor, safeOpenFlags } from "./directory-handle.ts"
import type { Entry } from "./entry-location.ts"
import type { TreeDirectory } from "./tree-directory.ts"

const readBytes = promisify(read)
const writeBytes = promisify(write)
const truncate = promisify(ftruncate)
const changeMode = promisify(fchmod)
const changeTimes = promisify(futimes)
const openFile = promisify(open)
const closeFile = promisify(close)

const chunkBytes = 2 ** 20
/** A file of up to this size is copied in one turn. */
const smallFileBytes = 2 ** 16
/** Holes of smaller files are found by reading them. */
const largeFileBytes = 2 ** 24

/** Copies a regular file with its nine permission bits; skips any other kind of entry. */
export async function copyFile(counter: CopyCounter, from: Entry, to: Entry): Promise<void> {
  using source = disposableDescriptor(await from.parent.open(from.name, constants.O_RDONLY))
  const stats = fstatSync(source.fd)
  if (!stats.isFile()) return
  assertFits(counter, bytesOnDisk(stats), to.parent)
  if (stats.size <= smallFileBytes && !counter.options.preserveLinksAndTimes)
    return await copySmall(counter, { source: source.fd, stats }, to)
  using target = disposableDescriptor(await to.parent.open(to.name, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600))
  await copyContent(counter, { source: source.fd, target: target.fd, stats, to: to.parent })
  await to.parent.inTurn(async () => {
    await changeMode(target.fd, stats.mode & 0o777)
    if (counter.options.preserveLinksAndTimes) await changeTimes(target.fd, stats.atime, stats.mtime)
  })
}

/**
 * In few calls of the thread pool, since most files are small. One call, `fs.copyFile`, would copy
 * all of a file that a program makes larger meanwhile.
 */
async function copySmall(counter: CopyCounter, { source, stats }: { source: number; stats: Stats }, to: Entry): Promise<void> {
  const buffer = Buffer.allocUnsafe(stats.size)
  const path = to.parent.pathTo(to.name)
  const mode = stats.mode & 0o777
  const known = readCached(source, buffer, 0) === stats.size
  await to.parent.inTurn(async () => {
    const length = known ? stats.size : (await readBytes(source, buffer, 0, stats.size, 0)).bytesRead
    counter.addBytes(length)
    const target = await openFile(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | safeOpenFlags, mode)
    try {
      for (let done = 0; done < length; ) done += (await writeBytes(target, buffer, done, length - done, done)).bytesWritten
      if ((fstatSync(target).mode & 0o7777) !== mode) await changeMode(target, mode)
    } finally {
      await closeFile(target)
    }
  })
}

interface OpenFiles {
  source: number
  target: number
  stats: Stats
  /** The directory of the target. */
  to: TreeDirectory
}

async function copyContent(counter: CopyCounter, file: OpenFiles): Promise<void> {
  const { stats } = file
  const sparse = bytesOnDisk(stats) < stats.size
  if (!(sparse && stats.size > largeFileBytes && (await copySparseFile(counter, file)))) await copyBytes(counter, file, sparse)
}

/** Fails before the first byte is copied if the file cannot fit. */
function assertFits(counter: CopyCounter, bytes: number, location: TreeDirectory): void {
  counter.assertRoomFor(bytes)
  if (bytes <= chunkBytes) return
  const { bavail, bsize } = statfsSync(location.path)
  if (bytes > bavail * bsize) throw Object.assign(new Error("The copy does not fit on the disk"), { code: "ENOSPC" })
}

async function copyBytes(counter: CopyCounter, { source, target, stats, to }: OpenFiles, sparse: boolean): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(chunkBytes, stats.size))
  for (let position = 0; position < stats.size; ) {
    counter.options.signal?.throwIfAborted()
    const { bytesRead } = await to.inTurn(() => readBytes(source, buffer, 0, buffer.length, position))
    if (bytesRead === 0) break
    const isHole = sparse && zeros.subarray(0, bytesRead).equals(buffer.subarray(0, bytesRead))
    if (!isHole) counter.addBytes(bytesRead)
    const write = async (at: number) => (await writeBytes(target, buffer, at, bytesRead - at, position + at)).bytesWritten
    for (let done = 0; !isHole && done < bytesRead; ) done += await to.inTurn(() => write(done))
    position += bytesRead
    if (isHole) await to.inTurn(() => truncate(target, position))
    counter.reportProgress()
  }
}
const zeros = Buffer.alloc(chunkBytes)
