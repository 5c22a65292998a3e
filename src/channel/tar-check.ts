import { bounds } from "#contract"
import { hasTooManyAccents, LinkNames } from "./link-names.ts"
import { StreamError } from "./stream-error.ts"
import { tarBlockBytes as blockBytes, checksumOf, readFlag, readOctal, readSize, readText, tarFields } from "./tar-header.ts"

const maxNameBytes = 65_536
const maxPathLength = bounds.control.archivePathCharacters.value
/** Names of one entry, from all headers before it. */
const maxNames = 8
/** Sizes from here on do not fit into the octal digits of a header. */
const largeSize = 8 * 2 ** 30

/** The kinds of entries, by their flag. Devices, pipes and sparse files are not among them. */
const kinds: Readonly<Record<string, "file" | "link" | "symlink" | "directory" | "pax" | "gnuName" | "gnuLink">> = {
  "0": "file",
  "\0": "file",
  "1": "link",
  "2": "symlink",
  "5": "directory",
  x: "pax",
  L: "gnuName",
  K: "gnuLink",
}

/**
 * The names that earlier headers give an entry. Programs disagree on which of them counts, so all
 * must be safe.
 */
interface Names {
  paths: string[]
  linkPaths: string[]
  size?: number | undefined
}

/**
 * Checks a tar archive while it passes. An archive that it accepts writes nothing outside the
 * directory where it is unpacked, whichever program unpacks it: no entry has `..` or an absolute
 * name, none passes through a link of the archive, and none is a device.
 */
export class TarCheck {
  readonly #header = new Uint8Array(blockBytes)
  #headerLength = 0
  /** Bytes until the next header. */
  #rest = 0
  /** The content of an entry that names the next one, and what it is. */
  #names: { kind: "pax" | "gnuName" | "gnuLink"; bytes: Uint8Array; length: number } | undefined
  #next: Names = { paths: [], linkPaths: [] }
  readonly #links = new LinkNames()
  #hasEnd = false

  /** Throws a `StreamError` if the archive must not be unpacked. */
  check(data: Uint8Array): void {
    for (let at = 0; at < data.length; ) {
      if (this.#rest > 0) at += this.#skip(data.subarray(at))
      else {
        const part = data.subarray(at, at + blockBytes - this.#headerLength)
        this.#header.set(part, this.#headerLength)
        this.#headerLength += part.length
        at += part.length
        if (this.#headerLength < blockBytes) return
        this.#headerLength = 0
        this.#checkHeader(this.#header)
      }
    }
  }

  /** Whether its end came, which are blocks of zeros. Only they show a cut between two entries. */
  get isComplete(): boolean {
    return this.#hasEnd && this.#rest === 0 && this.#headerLength === 0
  }

  /** Throws if the archive ended before its end. */
  end(): void {
    if (!this.isComplete) throw unsafe("it is cut off")
  }

  #skip(data: Uint8Array): number {
    const length = Math.min(this.#rest, data.length)
    this.#rest -= length
    const names = this.#names
    if (!names) return length
    const wanted = data.subarray(0, Math.min(length, names.bytes.length - names.length))
    names.bytes.set(wanted, names.length)
    names.length += wanted.length
    if (this.#rest === 0) {
      this.#names = undefined
      this.#addNames(names.kind, decode(names.bytes))
    }
    return length
  }

  #addNames(kind: "pax" | "gnuName" | "gnuLink", text: string): void {
    const { paths, linkPaths } = this.#next
    if (paths.length + linkPaths.length >= maxNames) throw unsafe("an entry has too many names")
    if (kind === "pax") this.#next.size = parsePax(text, this.#next) ?? this.#next.size
    else (kind === "gnuName" ? paths : linkPaths).push(text.replace(/\0.*$/s, ""))
  }

  #checkHeader(header: Uint8Array): void {
    if (header.every((byte) => byte === 0)) {
      this.#hasEnd = true
      return
    }
    if (readOctal(header, tarFields.checksum) !== checksumOf(header)) throw unsafe("a header's checksum is wrong")
    const flag = readFlag(header)
    const kind = Object.hasOwn(kinds, flag) ? kinds[flag] : undefined
    if (!kind) throw unsafe(`entries of the kind ${JSON.stringify(flag)} are not copied, such as devices and pipes`)
    const isNames = kind === "pax" || kind === "gnuName" || kind === "gnuLink"
    const size = isNames ? checkedSize(readSize(header)) : this.#sizeOf(header)
    if (isNames) {
      if (size > maxNameBytes) throw unsafe("a name is too long")
      this.#names = size > 0 ? { kind, bytes: new Uint8Array(size), length: 0 } : undefined
    } else {
      this.#checkEntry(kind, header)
      this.#next = { paths: [], linkPaths: [] }
      // Other programs disagree on whether the size of such an entry counts.
      if (kind !== "file" && size !== 0) throw unsafe("a link or directory has content")
    }
    this.#rest = Math.ceil(size / blockBytes) * blockBytes
  }

  /** Programs that do not know pax read the header's own size. */
  #sizeOf(header: Uint8Array): number {
    const [size, own] = [this.#next.size, checkedSize(readSize(header))]
    if (size !== undefined && size !== own && size < largeSize) throw unsafe("an entry has two sizes")
    return size ?? own
  }

  #checkEntry(kind: "file" | "link" | "symlink" | "directory", header: Uint8Array): void {
    const { paths, linkPaths } = this.#next
    const names = namesOf(paths, nameOf(header)).map((path) => this.#checkPath(path))
    if (kind === "link") for (const path of namesOf(linkPaths, readText(header, tarFields.linkName))) this.#checkPath(path)
    if (kind !== "symlink") return
    for (const parts of names) {
      if (parts.length === 0) throw unsafe("its directory itself is a link")
      if (!this.#links.add(parts)) throw unsafe("it has too many links")
    }
  }

  #checkPath(path: string): string[] {
    const shown = JSON.stringify(path.slice(0, 200))
    const parts = path.split("/").filter((part) => part !== "" && part !== ".")
    const isUnsafe =
      path.startsWith("/") || /[\0\\]/.test(path) || path.length > maxPathLength || parts.some(isUpwards) || /^[a-z]:/i.test(path)
    if (path === "" || isUnsafe) throw unsafe(`the name ${shown} leads outside`)
    if (hasTooManyAccents(path)) throw unsafe(`the name ${shown} has too many accents on one letter`)
    if (this.#links.leadsThrough(parts)) throw unsafe(`the name ${shown} leads through a link`)
    return parts
  }
}

/** Windows drops dots and spaces at the end of a name. */
function isUpwards(part: string): boolean {
  return /^\.\.[. ]*$/.test(part)
}

/** A header's own name is a cut one if others are given: it may end inside of a character. */
function namesOf(given: readonly string[], own: Uint8Array): string[] {
  return given.length === 0 ? [decode(own)] : [...given, ...(own.length > 0 ? [new TextDecoder().decode(own)] : [])]
}

/** Records `<length> <key>=<value>\n`. Adds the names, and returns the size. */
function parsePax(text: string, { paths, linkPaths }: Names): number | undefined {
  let size: number | undefined
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; ) {
    const head = /^(\d{1,6}) /.exec(decode(bytes.subarray(at, at + 8)))
    const length = Number(head?.[1] ?? 0)
    const record = decode(bytes.subarray(at, at + length))
    if (!head || length < 5 || at + length > bytes.length || !record.endsWith("\n")) throw unsafe("a header of the kind pax is malformed")
    const [, key = "", value = ""] = /^\d+ ([^=]*)=(.*)\n$/s.exec(record) ?? []
    // GNU's tar passes over blanks.
    if (/^[ \t]/.test(key)) throw unsafe("a key of a pax header begins with a blank")
    if (key === "path") paths.push(value)
    else if (key === "linkpath") linkPaths.push(value)
    else if (key === "size") size = paxSize(value)
    else if (key.startsWith("GNU.sparse")) throw unsafe("sparse files are not copied")
    at += length
  }
  return size
}

/** Programs disagree on an empty size, and on hexadecimal digits. */
function paxSize(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw unsafe("an entry's size is no number")
  return Number(text)
}

/** Names that are no UTF-8 cannot be compared. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw unsafe("a name is not UTF-8")
  }
}

function nameOf(header: Uint8Array): Uint8Array {
  const name = readText(header, tarFields.name)
  const isPosix = decode(readText(header, tarFields.magic)) === "ustar"
  const prefix = readText(header, tarFields.prefix)
  if (!isPosix && prefix.length > 0) throw unsafe("a header has a prefix that only some programs read")
  return prefix.length === 0 ? name : Uint8Array.of(...prefix, 47, ...name)
}

function checkedSize(size: number): number {
  if (Number.isSafeInteger(size) && size >= 0) return size
  throw unsafe("an entry's size is no number")
}

function unsafe(why: string): StreamError {
  return new StreamError("unsafe_archive", `The archive must not be unpacked: ${why}`)
}
