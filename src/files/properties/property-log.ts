import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs"
import { StringDecoder } from "node:string_decoder"
import { promisify } from "node:util"
import { Yielder } from "#kit"
import { fileFailure } from "../failures.ts"
import { reservedDirectory } from "../requests/address.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { ignoreErrors } from "../tree/ignore-errors.ts"
import { type PropertyChange, PropertyTable, type StoredProperties } from "./property-table.ts"

const fileName = "properties.jsonl"
const nextFileName = `${fileName}.new`
/** A longer log is compacted when less than half of its lines are still valid. */
const compactionBytes = 2 ** 20
const readChunkBytes = 65_536
/** Characters in one write. */
const sliceCharacters = 65_536

/**
 * The log of changes of properties, in the reserved directory. A killed process truncates at most
 * its last line. Compaction replays the log as it was into a second table, while requests append
 * to it, and writes that table to a new log. So no request waits for everybody's properties.
 */
export class PropertyLog implements Disposable {
  readonly #root: DirectoryHandle
  readonly #report: (error: unknown) => void
  #fd: number | undefined
  #bytes = 0
  /** Length of the log after the last compaction. */
  #compacted = 0
  #compaction: Promise<void> | undefined
  /** Changes when another file becomes the log, and at the end. */
  #generation = 0

  constructor(root: DirectoryHandle, report: (error: unknown) => void) {
    this.#root = root
    this.#report = report
  }

  /** Resolves at the end of the compaction under way. */
  get compaction(): Promise<void> | undefined {
    return this.#compaction
  }

  /** All changes so far. */
  *read(): Generator<PropertyChange> {
    using log = this.#openToRead()
    if (!log) return
    this.#bytes = fstatSync(log.fd).size
    yield* changesIn(log.fd, 0, this.#bytes)
  }

  /** Appends all of them or, when the disk is full, none. */
  append(entries: readonly PropertyChange[]): void {
    const text = textOf(entries)
    append(this.#open(), text)
    this.#bytes += Buffer.byteLength(text)
    if (this.#bytes > Math.max(compactionBytes, 2 * this.#compacted)) this.#compaction ??= this.#compactLater()
  }

  /** Replaces a log that lacks changes with one that contains these properties only. */
  rewrite(properties: StoredProperties): void {
    using reserved = this.#root.openDirectory(reservedDirectory)
    using next = new NextLog(reserved)
    for (const entries of inSlices(properties)) next.append(textOf(entries))
    fdatasyncSync(next.fd)
    this.#replace(next)
  }

  async #compactLater(): Promise<void> {
    try {
      await this.#compact()
    } catch (error) {
      // The next attempt follows when the log has doubled.
      this.#compacted = this.#bytes
      if (fileFailure(error)?.code !== "storage_full") this.#report(error)
    } finally {
      this.#compaction = undefined
    }
  }

  async #compact(): Promise<void> {
    const generation = this.#generation
    const isObsolete = () => this.#generation !== generation
    const length = this.#bytes
    const yielder = new Yielder()
    const table = new PropertyTable()
    await yielder.nextSlice()
    if (isObsolete()) return
    using reserved = this.#root.openDirectory(reservedDirectory)
    using old = this.#openToRead()
    if (!old) return
    for (const change of changesIn(old.fd, 0, length)) {
      table.apply(change)
      await yielder.pause()
    }
    using next = new NextLog(reserved)
    for (const entries of inSlices(table)) {
      next.append(textOf(entries))
      await yielder.nextSlice()
      if (isObsolete()) return
    }
    await promisify(fdatasync)(next.fd)
    const compacted = next.bytes
    for (let at = length; at < this.#bytes; ) {
      if (isObsolete()) return
      at += next.appendFrom(old.fd, at)
      if (this.#bytes - at > sliceCharacters) await yielder.nextSlice()
    }
    if (!isObsolete()) this.#replace(next, compacted)
  }

  /** `compacted`: the length without what was appended meanwhile. */
  #replace(next: NextLog, compacted = next.bytes): void {
    next.moveTo(fileName)
    this[Symbol.dispose]()
    this.#bytes = next.bytes
    this.#compacted = compacted
  }

  #openToRead(): (Disposable & { fd: number }) | undefined {
    try {
      using reserved = this.#root.openDirectory(reservedDirectory)
      const fd = reserved.open(fileName, constants.O_RDONLY)
      if (fstatSync(fd).isFile()) return { fd, [Symbol.dispose]: () => closeSync(fd) }
      closeSync(fd)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    }
    return undefined
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd
    using reserved = this.#root.openDirectory(reservedDirectory)
    this.#fd = reserved.open(fileName, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600)
    return this.#fd
  }

  /** Closes the file; a compaction under way ends without effect. */
  [Symbol.dispose](): void {
    this.#generation += 1
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}

/** The log that will replace the present one. Disposing it removes the file unless it was moved. */
class NextLog implements Disposable {
  readonly fd: number
  readonly #reserved: DirectoryHandle
  #isMoved = false
  bytes = 0

  constructor(reserved: DirectoryHandle) {
    this.#reserved = reserved
    this.fd = reserved.open(nextFileName, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND, 0o600)
  }

  append(text: string | Buffer): void {
    writeFileSync(this.fd, text)
    this.bytes += Buffer.byteLength(text)
  }

  /** Appends a part of another file, from this position on; returns its length. */
  appendFrom(fd: number, position: number): number {
    const piece = Buffer.allocUnsafe(readChunkBytes)
    const count = readSync(fd, piece, 0, piece.length, position)
    if (count === 0) throw new Error(`The log of properties ends before ${position}`)
    this.append(piece.subarray(0, count))
    return count
  }

  moveTo(name: string): void {
    renameSync(this.#reserved.pathTo(nextFileName), this.#reserved.pathTo(name))
    this.#isMoved = true
  }

  [Symbol.dispose](): void {
    closeSync(this.fd)
    if (!this.#isMoved) ignoreErrors(() => unlinkSync(this.#reserved.pathTo(nextFileName)))
  }
}

function* changesIn(fd: number, start: number, end: number): Generator<PropertyChange> {
  const piece = Buffer.allocUnsafe(readChunkBytes)
  const decoder = new StringDecoder("utf8")
  let rest = ""
  for (let at = start; at < end; ) {
    const count = readSync(fd, piece, 0, Math.min(piece.length, end - at), at)
    if (count === 0) break
    at += count
    const lines = (rest + decoder.write(piece.subarray(0, count))).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) yield* parse(line)
  }
  yield* parse(rest)
}

/** The changes that set these properties, in parts of limited length. */
export function* inSlices(properties: Iterable<[string, ReadonlyMap<string, string>]>): Generator<PropertyChange[]> {
  let slice: PropertyChange[] = []
  let characters = 0
  for (const [path, stored] of properties) {
    for (const [key, value] of stored) {
      slice.push({ set: path, key, value })
      characters += path.length + key.length + value.length
    }
    if (characters < sliceCharacters) continue
    yield slice
    slice = []
    characters = 0
  }
  if (slice.length > 0) yield slice
}

/** Writes all or nothing; the kernel alone would write the part that fits. */
function append(fd: number, text: string): void {
  const { size } = fstatSync(fd)
  try {
    writeFileSync(fd, text)
  } catch (error) {
    ftruncateSync(fd, size)
    throw error
  }
}

/** Ends a line that a crash truncated, so that new entries begin on their own line. */
function textOf(entries: readonly PropertyChange[]): string {
  return `\n${entries.map((entry) => JSON.stringify(entry)).join("\n")}\n`
}

function parse(line: string): [PropertyChange] | [] {
  try {
    return line === "" ? [] : [JSON.parse(line) as PropertyChange]
  } catch {
    return []
  }
}
