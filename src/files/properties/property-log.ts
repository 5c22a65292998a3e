import { constants } from "node:fs"
import { OwnerQueue, Yielder } from "#kit"
import { fileFailure } from "../failures.ts"
import { reservedDirectory } from "../requests/address.ts"
import type { TurnOwner } from "../requests/disk-turns.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { LogFile, logTurns } from "./log-file.ts"
import { type PropertyChange, PropertyTable, type StoredProperties } from "./property-table.ts"

const fileName = "properties.jsonl"
/** Another name than that of a rewritten log: a compaction that has no effect may still write. */
const compactedName = `${fileName}.new`
const rewrittenName = `${fileName}.rewritten`
/** A longer log is compacted when less than half of its lines are still valid. */
const compactionBytes = 2 ** 20
/** Characters in one write. */
const sliceCharacters = 65_536

/**
 * The log of changes of properties, in the reserved directory. A killed process truncates at most
 * its last line. Compaction replays the log as it was into a second table, while requests append
 * to it, and writes that table to a new log. So no request waits for everybody's properties.
 */
export class PropertyLog implements AsyncDisposable {
  readonly #root: TreeDirectory
  readonly #report: (error: unknown) => void
  readonly #turns = new OwnerQueue(1)
  readonly #turnsOfPeople = new OwnerQueue(Number.POSITIVE_INFINITY, 1)
  /** Undefined before the first change, and once the log was replaced or closed. */
  #file: LogFile | undefined
  /** Length of the log after the last compaction. */
  #compacted = 0
  #compaction: Promise<void> | undefined

  constructor(root: DirectoryHandle, report: (error: unknown) => void) {
    this.#root = TreeDirectory.of(root, logTurns)
    this.#report = report
  }

  /** Resolves at the end of the compaction under way. */
  get compaction(): Promise<void> | undefined {
    return this.#compaction
  }

  /**
   * Waits for earlier changes; disposing ends this one. Of each person's changes one waits for
   * those of others, so nobody waits for all of them. `assertStillAllowed` may take long, since a
   * person's questions wait for each other. So nobody else's change waits for it.
   */
  async acquire(person: TurnOwner, assertStillAllowed?: () => Promise<unknown>): Promise<Disposable> {
    using stack = new DisposableStack()
    stack.use(await this.#turnsOfPeople.acquire(String(person)))
    await assertStillAllowed?.()
    stack.use(await this.#turns.acquire())
    return stack.move()
  }

  /** The properties after all changes so far. */
  async read(): Promise<PropertyTable> {
    const table = new PropertyTable()
    using reserved = await this.#openReserved()
    await using log = await openExisting(reserved)
    if (log) await replay(log, log.size, table)
    return table
  }

  /** Appends all of them or, when the disk is full, none. The caller has a turn. */
  async append(entries: readonly PropertyChange[]): Promise<void> {
    const log = await this.#open()
    await log.append(textOf(entries))
    if (log.size > Math.max(compactionBytes, 2 * this.#compacted)) this.#compaction ??= this.#compactLater(log)
  }

  /**
   * Replaces a log that lacks changes with one that contains these properties only. The caller has
   * a turn. A compaction under way ends without effect.
   */
  async rewrite(properties: StoredProperties): Promise<void> {
    await this.#close()
    using reserved = await this.#openReserved()
    await using next = await NextLog.create(reserved, rewrittenName)
    for (const entries of inSlices(properties)) await next.file.append(textOf(entries))
    await next.file.flush()
    await next.replaceLog()
    this.#compacted = next.file.size
  }

  async #compactLater(log: LogFile): Promise<void> {
    try {
      await this.#compact(log)
    } catch (error) {
      // The next attempt follows when the log has doubled.
      if (this.#file === log) this.#compacted = log.size
      if (fileFailure(error)?.code !== "storage_full") this.#report(error)
    } finally {
      this.#compaction = undefined
    }
  }

  async #compact(log: LogFile): Promise<void> {
    const isObsolete = () => this.#file !== log
    let at = log.size
    const table = new PropertyTable()
    using reserved = await this.#openReserved()
    await using old = await openExisting(reserved)
    if (!old) return
    await replay(old, at, table, isObsolete)
    if (isObsolete()) return
    await using next = await NextLog.create(reserved, compactedName)
    for (const entries of inSlices(table)) {
      await next.file.append(textOf(entries))
      if (isObsolete()) return
    }
    await next.file.flush()
    const compacted = next.file.size
    while (!isObsolete() && log.size - at > sliceCharacters) at += await next.appendFrom(old, at, log.size)
    using _turn = await this.#turns.acquire()
    if (isObsolete()) return
    while (at < log.size) at += await next.appendFrom(old, at, log.size)
    await next.replaceLog()
    await this.#close()
    this.#compacted = compacted
  }

  #openReserved(): Promise<TreeDirectory> {
    return this.#root.openDirectory(reservedDirectory)
  }

  async #open(): Promise<LogFile> {
    if (this.#file) return this.#file
    using reserved = await this.#openReserved()
    this.#file = await LogFile.open(reserved, fileName, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT)
    return this.#file
  }

  async #close(): Promise<void> {
    const log = this.#file
    this.#file = undefined
    await log?.[Symbol.asyncDispose]()
  }

  /** Closes the file after the present change; a compaction under way ends without effect. */
  async [Symbol.asyncDispose](): Promise<void> {
    {
      using _turn = await this.#turns.acquire()
      await this.#close()
    }
    await this.#compaction
  }
}

/** The log that will replace the present one. Disposing it removes the file unless it did. */
class NextLog implements AsyncDisposable {
  readonly file: LogFile
  readonly #reserved: TreeDirectory
  readonly #name: string
  #isLog = false

  private constructor(file: LogFile, reserved: TreeDirectory, name: string) {
    this.file = file
    this.#reserved = reserved
    this.#name = name
  }

  static async create(reserved: TreeDirectory, name: string): Promise<NextLog> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND
    return new NextLog(await LogFile.open(reserved, name, flags), reserved, name)
  }

  /** Appends a part of what another log has between these positions; returns its length. */
  async appendFrom(log: LogFile, start: number, end: number): Promise<number> {
    const piece = await log.read(start, end)
    if (piece.length === 0) throw new Error(`The log of properties ends before ${start}`)
    await this.file.append(piece)
    return piece.length
  }

  async replaceLog(): Promise<void> {
    await this.#reserved.rename(this.#name, this.#reserved, fileName)
    this.#isLog = true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.file[Symbol.asyncDispose]()
    if (!this.#isLog) await this.#reserved.unlink(this.#name).catch(() => {})
  }
}

/** Opens the log to read it, if there is one. */
async function openExisting(reserved: TreeDirectory): Promise<LogFile | undefined> {
  try {
    return await LogFile.open(reserved, fileName, constants.O_RDONLY)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    return undefined
  }
}

/** Applies the changes in the first bytes of a log, in slices, until it is obsolete. */
async function replay(log: LogFile, end: number, table: PropertyTable, isObsolete = () => false): Promise<void> {
  const yielder = new Yielder()
  for await (const changes of log.changes(end)) {
    for (const change of changes) {
      table.apply(change)
      await yielder.pause()
    }
    if (isObsolete()) return
  }
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

/** Ends a line that a crash truncated, so that new entries begin on their own line. */
function textOf(entries: readonly PropertyChange[]): string {
  return `\n${entries.map((entry) => JSON.stringify(entry)).join("\n")}\n`
}
