import { randomBytes } from "node:crypto"
import type { Clock, Logger } from "#kit"
import { compareIdentity, parseIdentity } from "./database-identity.ts"
import type { Driver, Notices } from "./driver.ts"
import { StoreError } from "./errors.ts"
import { Writer } from "./group-commit/writer.ts"
import { query } from "./queries/query.ts"
import { ChangeRepositories, Repositories } from "./repositories/index.ts"
import type { FlushFile } from "./sqlite/write-ahead-log.ts"
import type { Change, ChangeOptions, Store } from "./store.ts"

export interface StoreOptions {
  /**
   * `sqlite:<file>` (relative to the working directory unless it starts with `/`) or
   * `postgres://…`.
   */
  url: string
  logger: Logger
  clock: Clock
  /**
   * The maximum time of a change in milliseconds; then it is rolled back and rejected. Default
   * 10,000.
   */
  changeTimeoutMs?: number
  /**
   * The database was moved from another machine or server: it stays the same installation and
   * manages its runs. Default false: it is a copy, with its own runs only.
   */
  isMoved?: boolean
  /** Flushes SQLite's log, by its descriptor. Default: `fdatasync` in the thread pool. */
  flush?: FlushFile
}

/**
 * Opens the database; creates and migrates it if necessary. Throws `StoreError` if it cannot be
 * used.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { changeTimeoutMs = 10_000, isMoved = false } = options
  const driver = await openDriver({ ...options, changeTimeoutMs })
  try {
    const { clock, logger } = options
    const writer = new Writer({ driver, logger, clock, timeoutMs: changeTimeoutMs })
    const instance = await instanceOf({ driver, writer, isMoved, logger })
    const indexer = driver.dialect === "sqlite" ? await startIndexer({ driver, writer, clock, logger }) : undefined
    return new DatabaseStore({ driver, writer, clock, instance, indexer })
  } catch (error) {
    await driver[Symbol.asyncDispose]()
    throw error
  }
}

/** PostgreSQL updates its index of words itself. */
async function startIndexer({ driver, writer, ...rest }: { driver: Driver; writer: Writer; clock: Clock; logger: Logger }) {
  const { SearchIndexer } = await import("./sqlite/search-indexer.ts")
  const indexer = new SearchIndexer({ ...rest, reads: driver.reads, change: (work) => writer.change(work) })
  indexer.start()
  return indexer
}

type DriverOptions = Omit<StoreOptions, "isMoved" | "changeTimeoutMs"> & { changeTimeoutMs: number }

async function openDriver({ url, logger, clock, changeTimeoutMs, flush }: DriverOptions): Promise<Driver> {
  const now = () => clock.now()
  if (url.startsWith("sqlite:")) {
    const file = url.slice("sqlite:".length)
    if (file === "" || file === ":memory:") throw new StoreError("url", `A file is wanted after sqlite:, got ${JSON.stringify(url)}`)
    const { openSqlite } = await import("./sqlite/open.ts")
    return openSqlite({ file, logger, now, busyTimeoutMs: changeTimeoutMs, flush })
  }
  if (/^postgres(ql)?:\/\//.test(url)) {
    const { openPostgres } = await import("./postgres/open.ts")
    return openPostgres({ url, logger, now, timeoutMs: changeTimeoutMs })
  }
  throw new StoreError("url", "A database URL that begins with sqlite: or postgres:// is wanted")
}

const meta = query("meta")
const setMeta = query("setMeta")

interface Opening {
  driver: Driver
  writer: Writer
  isMoved: boolean
  logger: Logger
}

/**
 * The name of this installation, by which the engine identifies its containers. It is drawn for a
 * new database, and again for a copy.
 */
async function instanceOf({ driver, writer, isMoved, logger }: Opening): Promise<string> {
  const { identity } = driver
  const known = await driver.reads.first(meta, { key: "instance" })
  const recorded = parseIdentity((await driver.reads.first(meta, { key: "place" }))?.[0] as string | undefined)
  if (known && compareIdentity(recorded, identity) === "here") return known[0] as string
  return writer.change(async (tx) => {
    const former = (await tx.first(meta, { key: "instance" }))?.[0] as string | undefined
    const place = parseIdentity((await tx.first(meta, { key: "place" }))?.[0] as string | undefined)
    await tx.run(setMeta, { key: "place", value: JSON.stringify(identity.here) })
    const isCopy = compareIdentity(place, identity) === "copied" && !isMoved
    if (former !== undefined && !isCopy) return former
    const value = randomBytes(16).toString("hex")
    await tx.run(setMeta, { key: "instance", value })
    if (former !== undefined) tx.afterCommit(() => logCopy(logger, { former, from: place?.path, instance: value }))
    return value
  })
}

function logCopy(logger: Logger, fields: { former: string; from: string | undefined; instance: string }): void {
  logger.warn(
    fields,
    "This database is a copy of one that is or was in use elsewhere: it gets a name of its own, and what runs under the former one is not touched. If it was moved, start once with QUAYSIDE_DATABASE_MOVED=on before anything else",
  )
}

interface Parts {
  driver: Driver
  writer: Writer
  clock: Clock
  instance: string
  indexer: AsyncDisposable | undefined
}

class DatabaseStore extends Repositories implements Store {
  readonly dialect: "sqlite" | "postgres"
  readonly instance: string
  readonly notices: Notices | undefined
  readonly #parts: Parts
  #checking: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(parts: Parts) {
    super(parts.driver.reads, parts.clock)
    this.#parts = parts
    this.dialect = parts.driver.dialect
    this.instance = parts.instance
    this.notices = parts.driver.notices
  }

  change<T>(work: (tx: Change) => Promise<T>, options?: ChangeOptions): Promise<T> {
    return this.#parts.writer.change((tx) => work(new ChangeRepositories(tx, this.#parts.clock)), options)
  }

  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  /** Only an actual write shows that rows can be written. */
  async #check(): Promise<void> {
    await this.#parts.driver.reads.first(meta, { key: "instance" })
    const value = String(this.#parts.clock.now())
    await this.#parts.writer.change((tx) => tx.run(setMeta, { key: "checked", value }))
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#parts.indexer?.[Symbol.asyncDispose]()
    await this.#parts.writer.close()
    await this.#parts.driver[Symbol.asyncDispose]()
  }
}
