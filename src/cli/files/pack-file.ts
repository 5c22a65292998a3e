import { type FileHandle, open } from "node:fs/promises"
import { basename } from "node:path"
import { tarBlockBytes as blockBytes, type ChannelStream } from "#channel"
import { CliError } from "../io/failures.ts"

const readBytes = 1024 * 1024
/** Larger sizes do not fit into the eleven octal digits of a header. */
const maxOctalSize = 8 ** 11 - 1

/** Receives an archive. Resolves when the bytes are no longer needed. */
export type WriteArchive = (data: Uint8Array) => Promise<void>

/**
 * Writes the archive of a copy into a run. A `tar` that has read the archive's end is gone before
 * the padding behind it: that it succeeded counts.
 */
export function createArchiveWriter(stream: ChannelStream): WriteArchive {
  return async (data) => {
    await stream.write(data).catch(() => stream.done)
  }
}

/**
 * Writes the archive of one file, with its name, mode and time. A `tar` of its own would copy every
 * byte twice more. Resolves with the file's size.
 */
export async function packFile(path: string, write: WriteArchive, onBytes: (done: number, size: number) => void): Promise<number> {
  await using file = await open(path)
  const { size, mode, mtimeMs } = await file.stat()
  const name = Buffer.from(basename(path))
  await write(fileHeaders(name, { size, mode: mode & 0o777, modifiedAt: Math.max(0, Math.floor(mtimeMs / 1_000)) }))
  await writeContent(file, size, async (data, done) => {
    await write(data)
    onBytes(done, size)
  })
  await write(new Uint8Array(paddingOf(size) + 2 * blockBytes))
  return size
}

/** Reads the next part while the last one is being written. A file that grows meanwhile is cut. */
async function writeContent(file: FileHandle, size: number, write: (data: Uint8Array, done: number) => Promise<void>): Promise<void> {
  const buffers = [Buffer.allocUnsafeSlow(readBytes), Buffer.allocUnsafeSlow(readBytes)] as const
  let written = Promise.resolve()
  for (let at = 0, turn = 0; at < size; turn = 1 - turn) {
    const buffer = buffers[turn as 0 | 1]
    const { bytesRead } = await file.read(buffer, 0, Math.min(readBytes, size - at), at)
    await written
    if (bytesRead === 0) throw new CliError("The file became shorter during the copy; copy it again.")
    at += bytesRead
    written = write(buffer.subarray(0, bytesRead), at)
    // An error is thrown by the next wait.
    written.catch(() => {})
  }
  await written
}

interface Entry {
  size: number
  mode: number
  /** In seconds. */
  modifiedAt: number
}

/** The headers of one file. A long name has an entry of its own, which all programs know. */
export function fileHeaders(name: Buffer, entry: Entry): Uint8Array {
  const parts = [header(name, { ...entry, flag: "0" })]
  if (name.length > 100) {
    const longName = Buffer.alloc(name.length + 1 + paddingOf(name.length + 1))
    name.copy(longName)
    parts.unshift(header(Buffer.from("././@LongLink"), { size: name.length + 1, mode: 0o644, modifiedAt: 0, flag: "L" }), longName)
  }
  return Buffer.concat(parts)
}

function header(name: Buffer, { size, mode, modifiedAt, flag }: Entry & { flag: string }): Buffer {
  const block = Buffer.alloc(blockBytes)
  name.copy(block, 0, 0, 100)
  const octal = (value: number, at: number, digits: number) => block.write(`${value.toString(8).padStart(digits, "0")}\0`, at, "latin1")
  octal(mode, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  if (size <= maxOctalSize) octal(size, 124, 11)
  else {
    block[124] = 0x80
    block.writeUIntBE(size, 130, 6)
  }
  octal(modifiedAt, 136, 11)
  block.write(`        ${flag}`, 148, "latin1")
  block.write("ustar  \0", 257, "latin1")
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1")
  return block
}

/** Bytes that fill an entry's last block. */
function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes
}
