import { bounds, type Failure } from "#contract"
import { splitPath, type Yielder } from "#kit"
import { DavFailure, fileFailure } from "../failures.ts"
import { reservedDirectory } from "../requests/address.ts"
import type { TurnOwner } from "../requests/disk-turns.ts"
import { PathLocks } from "../requests/path-locks.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { inSlices, PropertyLog } from "./property-log.ts"
import { budgetOwner, type PropertyChange, type PropertyTable, type StoredProperties } from "./property-table.ts"

/** Copies that are under way have their properties below this path, which no request can name. */
const stagingPath = `/${reservedDirectory}`

/** The copied properties of a copy that is under way. */
export interface StagedProperties extends AsyncDisposable {
  readonly path: string
}

type PropertyChanges = readonly { key: string; value: string | null }[]

type PathsWithProperties = Iterable<[string, ReadonlyMap<string, string>]>

interface ChangeOptions {
  /** The person whose other changes this one waits for first. Default: nobody. */
  person?: TurnOwner | undefined
  /** Whether that is somebody else than the owner of what is changed. */
  isGuest?: boolean
}

interface PatchOptions extends ChangeOptions {
  /** Called after the wait for the person's other changes. Default: the change is allowed. */
  assertStillAllowed?: () => Promise<unknown>
}

/** A copy of what is below a path. */
interface PropertyCopy extends ChangeOptions {
  path: string
  to: string
  /** Whether properties of entries below the path are copied, too. */
  deep: boolean
}

/**
 * Properties that clients stored with PROPPATCH, by path. They are loaded into memory on first use;
 * changes are appended to a log. Each owner's tree has a budget. Removals work with a full budget
 * and on a full disk. An entry that a container renames loses its properties; see
 * `StaleProperties`.
 *
 * Changes are made one after another, each first in the log and then in memory. So readers wait for
 * no change, and see none that a crash could undo.
 */
export class DeadProperties implements AsyncDisposable {
  readonly #log: PropertyLog
  readonly #pathLocks = new PathLocks()
  #loading: Promise<PropertyTable> | undefined
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
  async all(): Promise<StoredProperties | undefined> {
    const table = await this.#load()
    return table.isEmpty ? undefined : table
  }

  /** The path and the paths below it that have properties. */
  async entriesWithin(path: string): Promise<PathsWithProperties> {
    return (await this.#load()).entriesWithin(path)
  }

  /** Whether the owner's budget has room for all changes. */
  async hasRoomFor(path: string, changes: PropertyChanges, { isGuest = false } = {}): Promise<boolean> {
    const table = await this.#load()
    return onlyRemove(changes) || table.hasRoomFor(path, changes, isGuest)
  }

  /** Applies all changes; null removes one. */
  async patch(path: string, changes: PropertyChanges, options: PatchOptions = {}): Promise<void> {
    const { person = "", isGuest = false, assertStillAllowed } = options
    const table = await this.#load()
    using _lock = await this.#lock(path)
    using _turn = await this.#log.acquire(person, assertStillAllowed)
    const entries = changes.map(({ key, value }) => (value === null ? { unset: path, key } : { set: path, key, value }))
    if (onlyRemove(changes)) return await this.#applyEvenIfFull(table, entries)
    if (!table.fitsEntryLimit(path, changes)) throw entryBudgetExceeded()
    if (!table.hasRoomFor(path, changes, isGuest)) throw ownerBudgetExceeded(path)
    await this.#write(table, entries)
  }

  async remove(path: string, person: TurnOwner = ""): Promise<void> {
    const table = await this.#load()
    using _lock = await this.#lock(path)
    if (!table.has(path)) return
    using _turn = await this.#log.acquire(person)
    await this.#applyEvenIfFull(table, [{ forget: path }])
  }

  /** Replaces the properties there; those that do not fit in the new owner's budget are lost. */
  async move(path: string, to: string, { person = "", isGuest = false }: ChangeOptions = {}): Promise<void> {
    const table = await this.#load()
    using _lock = await this.#lock(path, to)
    if (!(table.has(path) || table.has(to))) return
    using _turn = await this.#log.acquire(person)
    const last = table.hasRoomAt(path, to, isGuest) ? { move: path, to } : { forget: path }
    await this.#applyEvenIfFull(table, [{ forget: to }, last])
  }

  /**
   * Copies properties to a path that `move` takes. Others are served meanwhile. If the disk is full
   * or the properties exceed the budget of `to`, the copy has none. The copy is removed at the end
   * of the result's scope.
   */
  async stageCopy(copied: PropertyCopy, yielder: Yielder): Promise<StagedProperties> {
    this.#copies += 1
    const staged = `${stagingPath}/${this.#copies}`
    await using stack = new AsyncDisposableStack()
    stack.defer(() => this.remove(staged, copied.person))
    const table = await this.#load()
    if (table.has(copied.path) && !(await this.#copyInSlices(table, copied, { staged, yielder }))) await this.remove(staged, copied.person)
    const held = stack.move()
    return { path: staged, [Symbol.asyncDispose]: () => held.disposeAsync() }
  }

  /** False if the copy does not fit. */
  async #copyInSlices(table: PropertyTable, copied: PropertyCopy, to: { staged: string; yielder: Yielder }): Promise<boolean> {
    const { staged, yielder } = to
    const write = async (entries: readonly PropertyChange[]) => {
      using _turn = await this.#log.acquire(copied.person ?? "")
      await this.#write(table, entries)
    }
    try {
      // A process that was killed may have left a copy there.
      await write([{ forget: staged }])
      for (const entries of inSlices(copyOf(table, copied, staged))) {
        await write(entries)
        if (!table.hasRoomAt(staged, copied.to, copied.isGuest)) return false
        await yielder.pause()
      }
    } catch (error) {
      if (fileFailure(error)?.code !== "storage_full") throw error
      return false
    }
    return true
  }

  /**
   * The files have already changed, so the request does not fail. When the disk is full, the change
   * applies in memory only, and the log catches up with the next change that fits.
   */
  async #applyEvenIfFull(table: PropertyTable, entries: readonly PropertyChange[]): Promise<void> {
    try {
      await this.#write(table, entries)
    } catch (error) {
      if (fileFailure(error)?.code !== "storage_full") throw error
      this.#isBehind = true
      for (const entry of entries) table.apply(entry)
    }
  }

  /** Waits for earlier changes there, and for no others: most entries have no properties. */
  #lock(...paths: string[]): Promise<Disposable> {
    return this.#pathLocks.acquire(paths.map(splitPath))
  }

  /** A failure is that of this call only. */
  #load(): Promise<PropertyTable> {
    this.#loading ??= this.#read().catch((error) => {
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  async #read(): Promise<PropertyTable> {
    const table = await this.#log.read()
    table.apply({ forget: stagingPath })
    return table
  }

  /** The caller has a turn of the log. */
  async #write(table: PropertyTable, entries: readonly PropertyChange[]): Promise<void> {
    if (this.#isBehind) await this.#log.rewrite(table)
    this.#isBehind = false
    await this.#log.append(entries)
    for (const entry of entries) table.apply(entry)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#log[Symbol.asyncDispose]()
  }
}

const onlyRemove = (changes: PropertyChanges): boolean => changes.every(({ value }) => value === null)

function* copyOf(table: PropertyTable, { path, deep }: PropertyCopy, staged: string): Generator<[string, ReadonlyMap<string, string>]> {
  for (const [each, stored] of table.entriesWithin(path)) {
    if (!deep && each !== path) return
    yield [staged + each.slice(path.length), stored]
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
