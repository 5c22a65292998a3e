import { closeSync, constants, fdatasyncSync, fstatSync, ftruncateSync, readSync, renameSync, unlinkSync, writeFileSync } from "node:fs"
import { StringDecoder } from "node:string_decoder"
import { bounds, type Failure } from "#contract"
import { DavFailure, fileFailure } from "../failures.ts"
import { reservedDirectory } from "../requests/address.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { ignoreErrors } from "../tree/ignore-errors.ts"
import { budgetOwner, type PropertyChange, PropertyTable } from "./property-table.ts"

const fileName = "properties.jsonl"
/** A longer log is rewritten when less than half of its lines are still valid. */
const compactionBytes = 2 ** 20
const readChunkBytes = 2 ** 20
/** Lines per write when the log is rewritten. */
const linesPerWrite = 1_000

/**
 * Properties that clients stored with PROPPATCH, by path. They are loaded into memory on first use.
 * Changes are appended to a log in the reserved directory; a killed process truncates at most its
 * last line. Each owner's tree has a budget. Removals work with a full budget and on a full disk.
 * An entry that a container renames loses its properties.
 */
export class DeadProperties implements Disposable {
  readonly #root: DirectoryHandle
  readonly #table = new PropertyTable()
  #fd: number | undefined
  #loaded = false
  #bytes = 0
  /** The log lacks changes that memory has, so it is rewritten before the next append. */
  #isBehind = false
  /** Length of the log after the last rewrite. */
  #compacted = 0

  constructor(root: DirectoryHandle) {
    this.#root = root
  }

  /** All properties by path; undefined when there are none. */
  all(): ReadonlyMap<string, ReadonlyMap<string, string>> | undefined {
    this.#load()
    return this.#table.byPath.size > 0 ? this.#table.byPath : undefined
  }

  /** Applies all changes; null removes one. */
  patch(path: string, changes: readonly { key: string; value: string | null }[]): void {
    this.#load()
    const onlyRemoves = changes.every(({ value }) => value === null)
    if (!onlyRemoves && !this.#table.fitsEntryLimit(path, changes)) throw entryBudgetExceeded()
    if (!onlyRemoves && !this.#table.hasRoomFor(path, changes)) throw ownerBudgetExceeded(path)
    const entries = changes.map(({ key, value }) => (value === null ? { unset: path, key } : { set: path, key, value }))
    if (onlyRemoves) this.#applyEvenIfFull(entries)
    else this.#write(entries)
  }

  remove(path: string): void {
    if (this.#has(path)) this.#applyEvenIfFull([{ forget: path }])
  }

  /** Properties that do not fit in the new owner's budget are lost. */
  move(path: string, to: string): void {
    if (!(this.#has(path) || this.#has(to))) return
    const fits = this.#table.hasRoomAt(path, to, { deep: true, moves: true })
    this.#applyEvenIfFull(fits ? [{ forget: to }, { move: path, to }] : [{ forget: to }, { forget: path }])
  }

  /** If the disk is full or the properties exceed the new owner's budget, the copy has none. */
  copy(path: string, to: string, deep: boolean): void {
    if (!(this.#has(path) || this.#has(to))) return
    const forgets: PropertyChange[] = [{ forget: to }]
    const fits = this.#table.hasRoomAt(path, to, { deep, moves: false })
    this.#applyEvenIfFull(fits ? [...forgets, { copy: path, to, deep }] : forgets, forgets)
  }

  /**
   * The files have already changed, so the request does not fail. When the disk is full, `least`
   * applies in memory only, and the log catches up with the next change that fits.
   */
  #applyEvenIfFull(entries: readonly PropertyChange[], least = entries): void {
    try {
      this.#write(entries)
    } catch (error) {
      if (fileFailure(error)?.code !== "storage_full") throw error
      this.#isBehind = true
      for (const entry of least) this.#table.apply(entry)
    }
  }

  #has(path: string): boolean {
    this.#load()
    return this.#table.has(path)
  }

  #load(): void {
    if (this.#loaded) return
    this.#loaded = true
    for (const line of this.#lines()) {
      const entry = parse(line)
      if (entry) this.#table.apply(entry)
    }
  }

  *#lines(): Generator<string> {
    const fd = this.#openToRead()
    if (fd === undefined) return
    try {
      if (!fstatSync(fd).isFile()) return
      const piece = Buffer.allocUnsafe(readChunkBytes)
      const decoder = new StringDecoder("utf8")
      let rest = ""
      for (let count = readSync(fd, piece); count > 0; count = readSync(fd, piece)) {
        this.#bytes += count
        const lines = (rest + decoder.write(piece.subarray(0, count))).split("\n")
        rest = lines.pop() ?? ""
        yield* lines
      }
      yield rest
    } finally {
      closeSync(fd)
    }
  }

  #openToRead(): number | undefined {
    try {
      using reserved = this.#root.openDirectory(reservedDirectory)
      return reserved.open(fileName, constants.O_RDONLY)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
      throw error
    }
  }

  #write(entries: readonly PropertyChange[]): void {
    const text = textOf(entries)
    if (this.#isBehind || this.#bytes + text.length > Math.max(compactionBytes, 2 * this.#compacted)) this.#compact()
    append(this.#open(), text)
    this.#bytes += text.length
    for (const entry of entries) this.#table.apply(entry)
  }

  /** Replaces the log with one that contains only the valid entries. */
  #compact(): void {
    let length = 0
    using reserved = this.#root.openDirectory(reservedDirectory)
    const fd = reserved.open(`${fileName}.new`, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND, 0o600)
    try {
      for (const text of this.#textOfAll()) {
        append(fd, text)
        length += text.length
      }
      fdatasyncSync(fd)
      renameSync(reserved.pathTo(`${fileName}.new`), reserved.pathTo(fileName))
    } catch (error) {
      ignoreErrors(() => unlinkSync(reserved.pathTo(`${fileName}.new`)))
      throw error
    } finally {
      closeSync(fd)
    }
    this[Symbol.dispose]()
    this.#bytes = length
    this.#compacted = length
    this.#isBehind = false
  }

  *#textOfAll(): Generator<string> {
    let some: PropertyChange[] = []
    for (const [path, stored] of this.#table.byPath) {
      for (const [key, value] of stored) some.push({ set: path, key, value })
      if (some.length < linesPerWrite) continue
      yield textOf(some)
      some = []
    }
    yield textOf(some)
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd
    using reserved = this.#root.openDirectory(reservedDirectory)
    this.#fd = reserved.open(fileName, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600)
    return this.#fd
  }

  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
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

function parse(line: string): PropertyChange | undefined {
  try {
    return line === "" ? undefined : (JSON.parse(line) as PropertyChange)
  } catch {
    return undefined
  }
}

/** The properties exceed the limit of one file or directory. */
export function entryBudgetExceeded(): Failure {
  const { value } = bounds.files.entryProperties
  return new DavFailure("storage_full", `One file or directory may have properties of ${value} characters together; remove some`, {
    condition: "<D:quota-not-exceeded/>",
  })
}

function ownerBudgetExceeded(path: string): Failure {
  const { storedPropertyBytes, storedProperties } = bounds.files
  return new DavFailure(
    "storage_full",
    `There is no room for more properties below ${budgetOwner(path)}: at most ${storedProperties.value}, in ${storedPropertyBytes.value} bytes; remove some`,
    { condition: "<D:quota-not-exceeded/>" },
  )
}
