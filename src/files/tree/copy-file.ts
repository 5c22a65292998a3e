import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  read,
  readSync,
  type Stats,
  statfsSync,
  write,
  writeSync,
} from "node:fs"
import { promisify } from "node:util"
import type { Spot } from "./copy-entry.ts"
import { copyAround } from "./copy-sparse.ts"
import { type Tally, takenBy } from "./copy-totals.ts"
import type { Folder } from "./directory-handle.ts"

const readBytes = promisify(read)
const writeBytes = promisify(write)

const piece = 2 ** 20
const small = 2 ** 16
/** Holes of smaller files are found by reading them. */
const large = 2 ** 24

/**
 * Copies a regular file with its nine permission bits; anything else that stands there by now is
 * passed over.
 */
export async function copyFile(tally: Tally, from: Spot, to: Spot): Promise<void> {
  const source = from.parent.open(from.name, constants.O_RDONLY)
  try {
    const stats = fstatSync(source)
    if (!stats.isFile()) return
    assertFits(tally, takenBy(stats), to.parent)
    const target = to.parent.open(to.name, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600)
    try {
      await copyContent(tally, { source, target, stats })
      fchmodSync(target, stats.mode & 0o777)
      if (tally.options.whole) futimesSync(target, stats.atime, stats.mtime)
    } finally {
      closeSync(target)
    }
  } finally {
    closeSync(source)
  }
}

interface File {
  source: number
  target: number
  stats: Stats
}

async function copyContent(tally: Tally, file: File): Promise<void> {
  const { stats } = file
  const sparse = takenBy(stats) < stats.size
  if (stats.size <= small) copySmall(tally, file)
  else if (!(sparse && stats.size > large && (await copyAround(tally, file)))) await copyBytes(tally, file, sparse)
}

/** Before the first byte: better known early. */
function assertFits(tally: Tally, bytes: number, place: Folder): void {
  tally.assertRoomFor(bytes)
  if (bytes <= piece) return
  const { bavail, bsize } = statfsSync(place.self)
  if (bytes > bavail * bsize) throw Object.assign(new Error("The copy would not fit"), { code: "ENOSPC" })
}

function copySmall(tally: Tally, { source, target }: File): void {
  const length = readSync(source, bufferOfSmall, 0, small, 0)
  tally.add(length)
  for (let done = 0; done < length; ) done += writeSync(target, bufferOfSmall, done, length - done)
}
/** Filled and emptied within one turn. */
const bufferOfSmall = Buffer.allocUnsafeSlow(small)

async function copyBytes(tally: Tally, { source, target, stats }: File, sparse: boolean): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(piece)
  for (let position = 0; position < stats.size; ) {
    tally.options.signal?.throwIfAborted()
    const { bytesRead } = await readBytes(source, buffer, 0, piece, position)
    if (bytesRead === 0) break
    const isHole = sparse && zeros.subarray(0, bytesRead).equals(buffer.subarray(0, bytesRead))
    if (!isHole) tally.add(bytesRead)
    for (let done = 0; !isHole && done < bytesRead; ) {
      done += (await writeBytes(target, buffer, done, bytesRead - done, position + done)).bytesWritten
    }
    position += bytesRead
    if (isHole) ftruncateSync(target, position)
    tally.tell()
  }
}
const zeros = Buffer.alloc(piece)
