/** The length of a header, and of each block of content. */
export const tarBlockBytes = 512

export const tarFields = {
  name: [0, 100],
  mode: [100, 8],
  size: [124, 12],
  modifiedAt: [136, 12],
  checksum: [148, 8],
  linkName: [157, 100],
  magic: [257, 6],
  prefix: [345, 155],
} as const satisfies Record<string, readonly [at: number, length: number]>

type Field = (typeof tarFields)[keyof typeof tarFields]

/** The flag of an entry's kind. */
export function readFlag(header: Uint8Array): string {
  return String.fromCharCode(header[156] ?? 0)
}

export function readText(header: Uint8Array, [at, length]: Field): Uint8Array {
  const field = header.subarray(at, at + length)
  const end = field.indexOf(0)
  return end < 0 ? field : field.subarray(0, end)
}

/** `NaN` if it is no number. */
export function readOctal(header: Uint8Array, [at, length]: Field): number {
  const text = String.fromCharCode(...header.subarray(at, at + length)).replace(/[\0 ]+$/, "")
  return /^ *[0-7]*$/.test(text) ? Number.parseInt(text.trim() || "0", 8) : Number.NaN
}

/** The size of an entry's content, also of one that octal digits cannot hold. */
export function readSize(header: Uint8Array): number {
  const [at, length] = tarFields.size
  const first = header[at] ?? 0
  if ((first & 0x80) === 0) return readOctal(header, tarFields.size)
  let size = first & 0x7f
  for (const byte of header.subarray(at + 1, at + length)) size = size * 256 + byte
  return size
}

/** The sum of all bytes, with the checksum's own as spaces. */
export function checksumOf(header: Uint8Array): number {
  const [at, length] = tarFields.checksum
  let sum = 0
  for (let i = 0; i < tarBlockBytes; i += 1) sum += i >= at && i < at + length ? 32 : (header[i] ?? 0)
  return sum
}

export interface TarFile {
  name: string
  size: number
  mode: number
  /** In seconds. */
  modifiedAt: number
}

/**
 * The file that an archive begins with; undefined if it begins with something else, or if one
 * header does not hold all of it. `TarCheck` has accepted the archive so far.
 */
export function readFirstFile(archive: Uint8Array): TarFile | undefined {
  if (archive.length < tarBlockBytes || readFlag(archive) !== "0" || readText(archive, tarFields.prefix).length > 0) return undefined
  const [mode, modifiedAt] = [readOctal(archive, tarFields.mode), readOctal(archive, tarFields.modifiedAt)]
  if (Number.isNaN(mode + modifiedAt)) return undefined
  const name = new TextDecoder().decode(readText(archive, tarFields.name))
  return { name, size: readSize(archive), mode: mode & 0o777, modifiedAt }
}
