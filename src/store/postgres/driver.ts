import pg from "pg"
import { bounds } from "#contract"
import { waitForTurn } from "#http"
import { OwnerQueue } from "#kit"
import type { IdentityCheck } from "../database-identity.ts"
import type { Driver, QueryRunner, Transaction } from "../driver.ts"
import { LimitedScans } from "../lists/scan-limiter.ts"
import { SearchCounts } from "../lists/search-counts.ts"
import { connectionOptions, type PostgresDriverOptions } from "./connection.ts"
import { failureOf, isConnectionLost } from "./errors.ts"
import { PostgresNotices } from "./notices.ts"
import { PostgresQueryRunner, type SendQuery, StatementNames } from "./query-runner.ts"
import { currentReader } from "./reading-person.ts"
import { PostgresTransaction } from "./transaction.ts"

const defaultReaders = 10

interface Reading {
  reader: number | string | undefined
  onConnected: () => void
}

/**
 * A pool for reads, and one connection that writes. Broken connections are replaced at the next
 * use.
 */
export class PostgresDriver implements Driver {
  readonly dialect = "postgres"
  readonly identity: IdentityCheck
  readonly reads: QueryRunner
  readonly notices: PostgresNotices
  readonly #options: PostgresDriverOptions
  readonly #pool: pg.Pool
  readonly #queue: OwnerQueue
  readonly #names = new StatementNames()
  /** Reads that no connection has taken yet, by their reader, statement and values. */
  readonly #waiting = new Map<string, ReturnType<SendQuery>>()
  #writer: PostgresTransaction | undefined

  constructor(options: PostgresDriverOptions & { identity: IdentityCheck; hasTrigrams: boolean }) {
    this.#options = options
    this.identity = options.identity
    const max = options.readers ?? defaultReaders
    this.#pool = new pg.Pool({ ...connectionOptions(options), max, idleTimeoutMillis: 60_000 })
    this.#queue = new OwnerQueue(max, bounds.rates.databaseReads.value)
    this.#pool.on("error", (err) => options.logger.warn({ err }, "A connection to the database broke"))
    this.notices = new PostgresNotices({ config: connectionOptions(options), logger: options.logger })
    const reading = { compiler: options.compiler, names: this.#names, send: (config: Parameters<SendQuery>[0]) => this.#read(config) }
    this.reads = new PostgresQueryRunner({
      ...reading,
      scans: new LimitedScans(new PostgresQueryRunner(reading)),
      search: { isIndexed: options.hasTrigrams, counts: new SearchCounts() },
    })
  }

  /**
   * Equal reads that wait for a connection share one answer, since the database reads it after each
   * of them was asked for. Thousands of starts read the same image, person and grants.
   */
  async #read(config: Parameters<SendQuery>[0]): ReturnType<SendQuery> {
    const reader = currentReader()
    const key = JSON.stringify([reader, config.name ?? config.text, config.values])
    const reading = this.#waiting.get(key) ?? this.#readInTurn(config, { reader, onConnected: () => void this.#waiting.delete(key) })
    this.#waiting.set(key, reading)
    const result = await reading
    // Dozens of a person's requests may share an answer, of which each makes one of its own.
    if (reader !== undefined) await waitForTurn(reader, { length: textLengthOf(result) }, {})
    // Lists change the array that they receive.
    return { ...result, rows: [...result.rows] }
  }

  async #readInTurn(config: Parameters<SendQuery>[0], { reader, onConnected }: Reading): ReturnType<SendQuery> {
    using _turn = await this.#queue.acquire(reader === undefined ? "" : String(reader))
    return await this.#readTwice(config, onConnected)
  }

  /** The connection may have broken since its last use, so a read gets a second attempt. */
  async #readTwice(config: Parameters<SendQuery>[0], onConnected: () => void): ReturnType<SendQuery> {
    try {
      return await this.#readOnce(config, onConnected)
    } catch (error) {
      if (!isConnectionLost(error)) throw failureOf(error)
    }
    try {
      return await this.#readOnce(config, onConnected)
    } catch (error) {
      throw failureOf(error)
    }
  }

  async #readOnce(config: Parameters<SendQuery>[0], onConnected: () => void): ReturnType<SendQuery> {
    const client = await this.#pool.connect().finally(onConnected)
    let lost = false
    // The query rejects with the same error.
    client.on("error", ignore)
    try {
      return await client.query(config)
    } catch (error) {
      lost = isConnectionLost(error)
      throw error
    } finally {
      client.off("error", ignore)
      client.release(lost)
    }
  }

  async begin(): Promise<Transaction> {
    for (const isLast of [false, true]) {
      if (this.#writer?.lost()) this.#dropWriter()
      try {
        this.#writer ??= await PostgresTransaction.connect(this.#options, this.#names)
        await this.#writer.begin()
        return this.#writer
      } catch (error) {
        this.#dropWriter()
        if (isLast || !isConnectionLost(error)) throw failureOf(error)
      }
    }
    throw new Error("unreachable")
  }

  /** Does not wait for the end of the connection, which may never answer. */
  #dropWriter(): void {
    void this.#writer?.end()
    this.#writer = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.notices[Symbol.asyncDispose]()
    await this.#writer?.end()
    await this.#pool.end()
  }
}

function textLengthOf({ rows }: { rows: unknown[][] }): number {
  let length = 0
  for (const row of rows) for (const value of row) if (typeof value === "string") length += value.length
  return length
}

function ignore(): void {}
