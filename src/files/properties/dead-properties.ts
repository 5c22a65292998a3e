import { bounds, type Failure } from "#contract"
import type { Yielder } from "#kit"
import { DavFailure, fileFailure } from "../failures.ts"
import { reservedDirectory } from "../requests/address.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { inSlices, PropertyLog } from "./property-log.ts"
import { budgetOwner, type PropertyChange, PropertyTable, type StoredProperties } from "./property-table.ts"

/** Copies that are under way have their properties below this path, which no request can name. */
const stagingPath = `/${reservedDirectory}`

/** The copied properties of a copy that is under way. */
export interface StagedProperties extends Disposable {
  readonly path: string
}

type PropertyChanges = readonly { key: string; value: string | null }[]

type PathsWithProperties = Generator<[string, ReadonlyMap<string, string>]>

/** A copy of what is below a path. */
interface PropertyCopy {
  path: string
  to: string
  /** Whether properties of entries below the path are copied, too. */
  deep: boolean
  /** Whether somebody else than the owner of `to` copies. */
  isGuest?: boolean
}

/**
 * Properties that clients stored with PROPPATCH, by path. They are loaded into memory on first use;
 * changes are appended to a log. Each owner's tree has a budget. Removals work with a full budget
 * and on a full disk. An entry that a container renames loses its properties; see
 * `StaleProperties`.
 */
export class DeadProperties implements Disposable {
  readonly #table = new PropertyTable()
  readonly #log: PropertyLog
  #loaded = false
  /** The log lacks changes that memory has, so it is rewritten before the next append. */
  #isBehind = false
  #copies = 0

  constructor(root: DirectoryHandle, report: (error: unknown) => void = () => {}) {
    this.#log = new PropertyLog(root, report)
  }

  /** Resolves at the end of the compaction under way. */
  get compaction(): Promise<void> | undefined {
    return this.#log.compaction
  }

  /** All properties by path; undefined when there are none. */
  all(): StoredProperties | undefined {
    this.#load()
    return this.#table.isEmpty ? undefined : this.#table
  }

  /** The path and the paths below it that have properties. */
  entriesWithin(path: string): Iterable<[string, ReadonlyMap<string, string>]> {
    this.#load()
    return this.#table.entriesWithin(path)
  }

  /** Whether the owner's budget has room for all changes. */
  hasRoomFor(path: string, changes: PropertyChanges, { isGuest = false } = {}): boolean {
    this.#load()
    return changes.every(({ value }) => value === null) || this.#table.hasRoomFor(path, changes, isGuest)
  }

  /** Applies all changes; null removes one. */
  patch(path: string, changes: PropertyChanges, { isGuest = false } = {}): void {
    const hasRoom = this.hasRoomFor(path, changes, { isGuest })
    const onlyRemoves = changes.every(({ value }) => value === null)
    if (!onlyRemoves && !this.#table.fitsEntryLimit(path, changes)) throw entryBudgetExceeded()
    if (!hasRoom) throw ownerBudgetExceeded(path)
    const entries = changes.map(({ key, value }) => (value === null ? { unset: path, key } : { set: path, key, value }))
    if (onlyRemoves) this.#applyEvenIfFull(entries)
    else this.#write(entries)
  }

  remove(path: string): void {
    if (this.#has(path)) this.#applyEvenIfFull([{ forget: path }])
  }

  /** Replaces the properties there; those that do not fit in the new owner's budget are lost. */
  move(path: string, to: string, { isGuest = false } = {}): void {
    if (!(this.#has(path) || this.#has(to))) return
    const last = this.#table.hasRoomAt(path, to, isGuest) ? { move: path, to } : { forget: path }
    this.#applyEvenIfFull([{ forget: to }, last])
  }

  /**
   * Copies properties to a path that `move` takes. Others are served meanwhile. If the disk is full
   * or the properties exceed the budget of `to`, the copy has none. The copy is removed at the end
   * of the result's scope.
   */
  async stageCopy(copied: PropertyCopy, yielder: Yielder): Promise<StagedProperties> {
    this.#copies += 1
    const staged = `${stagingPath}/${this.#copies}`
    using stack = new DisposableStack()
    stack.defer(() => this.remove(staged))
    if (this.#has(copied.path) && !(await this.#copyInSlices(copied, staged, yielder))) this.remove(staged)
    const held = stack.move()
    return { path: staged, [Symbol.dispose]: () => held.dispose() }
  }

  /** False if the copy does not fit. */
  async #copyInSlices(copied: PropertyCopy, staged: string, yielder: Yielder): Promise<boolean> {
    try {
      // A process that was killed may have left a copy there.
      this.#write([{ forget: staged }])
      for (const entries of inSlices(this.#copyOf(copied, staged))) {
        this.#write(entries)
        if (!this.#table.hasRoomAt(staged, copied.to, copied.isGuest)) return false
        await yielder.pause()
      }
    } catch (error) {
      if (fileFailure(error)?.code !== "storage_full") throw error
      return false
    }
    return true
  }

  *#copyOf({ path, deep }: PropertyCopy, staged: string): PathsWithProperties {
    for (const [each, stored] of this.#table.entriesWithin(path)) {
      if (!deep && each !== path) return
      yield [staged + each.slice(path.length), stored]
    }
  }

  /**
   * The files have already changed, so the request does not fail. When the disk is full, the change
   * applies in memory only, and the log catches up with the next change that fits.
   */
  #applyEvenIfFull(entries: readonly PropertyChange[]): void {
    try {
      this.#write(entries)
    } catch (error) {
      if (fileFailure(error)?.code !== "storage_full") throw error
      this.#isBehind = true
      for (const entry of entries) this.#table.apply(entry)
    }
  }

  #has(path: string): boolean {
    this.#load()
    return this.#table.has(path)
  }

  #load(): void {
    if (this.#loaded) return
    this.#loaded = true
    for (const change of this.#log.read()) this.#table.apply(change)
    this.#table.apply({ forget: stagingPath })
  }

  #write(entries: readonly PropertyChange[]): void {
    if (this.#isBehind) this.#log.rewrite(this.#table)
    this.#isBehind = false
    this.#log.append(entries)
    for (const entry of entries) this.#table.apply(entry)
  }

  [Symbol.dispose](): void {
    this.#log[Symbol.dispose]()
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
