import { constants, copyFile as copyByPath, fchmod, fstatSync, ftruncate, futimes, read, type Stats, statfsSync, write } from "node:fs"
import { promisify } from "node:util"
import { copySparseFile } from "./copy-sparse.ts"
import { bytesOnDisk, type CopyCounter } from "./copy-totals.ts"
import { disposableDescriptor, type EntryName } from "./directory-handle.ts"
import type { Entry } from "./entry-location.ts"
import type { TreeDirectory } from "./tree-directory.ts"

const readBytes = promisify(read)
const writeBytes = promisify(write)
const truncate = promisify(ftruncate)
const changeMode = promisify(fchmod)
const changeTimes = promisify(futimes)
const copyWhole = promisify(copyByPath) as (from: EntryName, to: EntryName, flags: number) => Promise<void>

const chunkBytes = 2 ** 20
/** A file of up to this size is copied by one call. */
const smallFileBytes = 2 ** 16
/** Holes of smaller files are found by reading them. */
const largeFileBytes = 2 ** 24

/** Copies a regular file with its nine permission bits; skips any other kind of entry. */
export async function copyFile(counter: CopyCounter, from: Entry, to: Entry): Promise<void> {
  using source = disposableDescriptor(await from.parent.open(from.name, constants.O_RDONLY))
  const stats = fstatSync(source.fd)
  if (!stats.isFile()) return
  assertFits(counter, bytesOnDisk(stats), to.parent)
  if (stats.size <= smallFileBytes && isPlain(counter, stats)) return await copySmall(counter, { source: source.fd, stats }, to)
  using target = disposableDescriptor(await to.parent.open(to.name, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600))
  await copyContent(counter, { source: source.fd, target: target.fd, stats, to: to.parent })
  await to.parent.inTurn(async () => {
    await changeMode(target.fd, stats.mode & 0o777)
    if (counter.options.preserveLinksAndTimes) await changeTimes(target.fd, stats.atime, stats.mtime)
  })
}

/** Neither times nor bits beyond the nine, such as set-uid, which the call below would copy. */
function isPlain({ options }: CopyCounter, { mode }: Stats): boolean {
  return !options.preserveLinksAndTimes && (mode & 0o7000) === 0
}

/** One call of the thread pool, since most files are small. */
async function copySmall(counter: CopyCounter, { source, stats }: { source: number; stats: Stats }, to: Entry): Promise<void> {
  counter.addBytes(stats.size)
  await to.parent.inTurn(() => copyWhole(`/proc/self/fd/${source}`, to.parent.pathTo(to.name), constants.COPYFILE_EXCL))
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
