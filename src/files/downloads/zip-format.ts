/**
 * The records of a zip archive (APPNOTE 6.3) whose entries are stored, not compressed. Names are
 * UTF-8. The sizes of a file follow its content, since it may change while it is read.
 */

/** The facts that the records of an entry hold. */
export interface ZipEntry {
  /** Relative, with slashes; a directory's ends with one. */
  name: string
  mode: number
  mtimeMs: number
  /** Whether its sizes take eight bytes each. */
  isLarge: boolean
}

/** An entry whose content was written. */
export interface WrittenEntry extends ZipEntry {
  crc: number
  bytes: number
  /** The position of its local header. */
  offset: number
}

const max32 = 0xffffffff
const max16 = 0xffff
/** Sizes and checksum follow the content, and the name is UTF-8. */
const flags = 0x0808
const versionPlain = 20
const versionLarge = 45
const fromUnix = 3 << 8

/** Whether a file of so many bytes needs eight bytes for its sizes. */
export function isLargeFile(bytes: number): boolean {
  return bytes >= max32
}

export function localHeader(entry: ZipEntry): Buffer {
  const name = Buffer.from(entry.name)
  const extra = Buffer.concat([timeField(entry.mtimeMs), ...(entry.isLarge ? [largeField([0, 0])] : [])])
  const head = Buffer.alloc(30)
  head.writeUInt32LE(0x04034b50, 0)
  head.writeUInt16LE(entry.isLarge ? versionLarge : versionPlain, 4)
  head.writeUInt16LE(flags, 6)
  writeDosTime(head, 10, entry.mtimeMs)
  if (entry.isLarge) head.fill(0xff, 18, 26)
  head.writeUInt16LE(name.length, 26)
  head.writeUInt16LE(extra.length, 28)
  return Buffer.concat([head, name, extra])
}

/** Follows an entry's content. */
export function dataDescriptor({ crc, bytes, isLarge }: Pick<WrittenEntry, "crc" | "bytes" | "isLarge">): Buffer {
  const record = Buffer.alloc(isLarge ? 24 : 16)
  record.writeUInt32LE(0x08074b50, 0)
  record.writeUInt32LE(crc, 4)
  if (isLarge) {
    record.writeBigUInt64LE(BigInt(bytes), 8)
    record.writeBigUInt64LE(BigInt(bytes), 16)
  } else {
    record.writeUInt32LE(bytes, 8)
    record.writeUInt32LE(bytes, 12)
  }
  return record
}

/** An entry's record in the directory at the end. */
export function directoryRecord(entry: WrittenEntry): Buffer {
  const name = Buffer.from(entry.name)
  const isFar = entry.offset >= max32
  const large = [...(entry.isLarge ? [entry.bytes, entry.bytes] : []), ...(isFar ? [entry.offset] : [])]
  const extra = Buffer.concat([timeField(entry.mtimeMs), ...(large.length > 0 ? [largeField(large)] : [])])
  const version = large.length > 0 ? versionLarge : versionPlain
  const head = Buffer.alloc(46)
  head.writeUInt32LE(0x02014b50, 0)
  head.writeUInt16LE(fromUnix | version, 4)
  head.writeUInt16LE(version, 6)
  head.writeUInt16LE(flags, 8)
  writeDosTime(head, 12, entry.mtimeMs)
  head.writeUInt32LE(entry.crc, 16)
  head.writeUInt32LE(entry.isLarge ? max32 : entry.bytes, 20)
  head.writeUInt32LE(entry.isLarge ? max32 : entry.bytes, 24)
  head.writeUInt16LE(name.length, 28)
  head.writeUInt16LE(extra.length, 30)
  head.writeUInt32LE(((entry.mode & 0xffff) << 16) >>> 0, 38)
  head.writeUInt32LE(isFar ? max32 : entry.offset, 42)
  return Buffer.concat([head, name, extra])
}

/** The archive's last records. `offset` and `bytes` are those of the directory. */
export function endRecords({ entries, offset, bytes }: { entries: number; offset: number; bytes: number }): Buffer {
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Math.min(entries, max16), 8)
  end.writeUInt16LE(Math.min(entries, max16), 10)
  end.writeUInt32LE(Math.min(bytes, max32), 12)
  end.writeUInt32LE(Math.min(offset, max32), 16)
  if (entries < max16 && offset < max32 && bytes < max32) return end
  const large = Buffer.alloc(56 + 20)
  large.writeUInt32LE(0x06064b50, 0)
  large.writeBigUInt64LE(44n, 4)
  large.writeUInt16LE(fromUnix | versionLarge, 12)
  large.writeUInt16LE(versionLarge, 14)
  large.writeBigUInt64LE(BigInt(entries), 24)
  large.writeBigUInt64LE(BigInt(entries), 32)
  large.writeBigUInt64LE(BigInt(bytes), 40)
  large.writeBigUInt64LE(BigInt(offset), 48)
  large.writeUInt32LE(0x07064b50, 56)
  large.writeBigUInt64LE(BigInt(offset + bytes), 64)
  large.writeUInt32LE(1, 72)
  return Buffer.concat([large, end])
}

function largeField(values: readonly number[]): Buffer {
  const field = Buffer.alloc(4 + values.length * 8)
  field.writeUInt16LE(1, 0)
  field.writeUInt16LE(values.length * 8, 2)
  values.forEach((value, i) => {
    field.writeBigUInt64LE(BigInt(value), 4 + i * 8)
  })
  return field
}

/** The time of modification in UTC, to the second. */
function timeField(mtimeMs: number): Buffer {
  const field = Buffer.alloc(9)
  field.writeUInt16LE(0x5455, 0)
  field.writeUInt16LE(5, 2)
  field.writeUInt8(1, 4)
  field.writeInt32LE(Math.max(-0x80000000, Math.min(0x7fffffff, Math.floor(mtimeMs / 1000))), 5)
  return field
}

/** DOS times have two-second steps, and begin in 1980. */
function writeDosTime(record: Buffer, offset: number, mtimeMs: number): void {
  const date = new Date(Math.max(Date.UTC(1980, 0, 1), Math.min(mtimeMs, Date.UTC(2107, 11, 31))))
  record.writeUInt16LE((date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1), offset)
  record.writeUInt16LE(((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate(), offset + 2)
}
