import pg from "pg"
import { Failure } from "#contract"
import type { Logger } from "#kit"
import type { Driver, Session, Transaction } from "../driver.ts"
import type { Catalog } from "../sql/catalog.ts"
import { failureOf, isConnectionLost } from "./errors.ts"
import { type Ask, PostgresSession, StatementNames } from "./session.ts"

/** Held by whoever writes, from the first statement of a transaction to its end; all processes use this one number. */
export const writeLock = "select pg_advisory_xact_lock(1903518073)"

export interface PostgresDriverOptions {
  url: string
  logger: Logger
  catalog: Catalog
  deadline: number
  /** Connections for reads. Default 10. */
  readers?: number
}

/** A pool for reads and one connection that writes. Connections that break are replaced when they are next needed. */
export class PostgresDriver implements Driver {
  readonly dialect = "postgres"
  readonly reads: Session
  readonly #options: PostgresDriverOptions
  readonly #pool: pg.Pool
  readonly #names = new StatementNames()
  #writer: PostgresTransaction | undefined

  constructor(options: PostgresDriverOptions) {
    this.#options = options
    this.#pool = new pg.Pool({ ...connection(options), max: options.readers ?? 10, idleTimeoutMillis: 60_000 })
    this.#pool.on("error", (err) => options.logger.warn({ err }, "A connection to the database broke"))
    this.reads = new PostgresSession({ catalog: options.catalog, names: this.#names, ask: (config) => this.#read(config) })
  }

  /** A connection may have broken since it was last used, so a read is worth a second attempt. */
  async #read(config: Parameters<Ask>[0]): ReturnType<Ask> {
    try {
      return await this.#pool.query(config)
    } catch (error) {
      if (!isConnectionLost(error)) throw failureOf(error)
    }
    try {
      return await this.#pool.query(config)
    } catch (error) {
      throw failureOf(error)
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

  /** Nobody waits for the end of a connection that may not answer any more. */
  #dropWriter(): void {
    void this.#writer?.end()
    this.#writer = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer?.end()
    await this.#pool.end()
  }
}

/** Settings of a connection. Numbers of 64 bits come as numbers: none of ours is beyond 2^53. */
function connection({ url, deadline }: PostgresDriverOptions): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: "quayside",
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    // Our queries are short: compiling one, when many rows are expected, takes longer than all of them.
    options: "-c jit=off",
    statement_timeout: deadline,
    lock_timeout: deadline,
    idle_in_transaction_session_timeout: 2 * deadline,
    query_timeout: 2 * deadline,
    types: {
      getTypeParser: (oid: number, format?: "text" | "binary") => (oid === 20 ? Number : pg.types.getTypeParser(oid, format as "text")),
    },
  } as pg.ClientConfig
}

/** The writer's connection. There is one per process, used for one transaction after the other. */
class PostgresTransaction extends PostgresSession implements Transaction {
  readonly #client: pg.Client
  #lost: Failure | undefined
  /** A savepoint that is to be kept: said together with the next statement of that kind, to save a round trip. */
  #toRelease = false

  static async connect(options: PostgresDriverOptions, names: StatementNames): Promise<PostgresTransaction> {
    const client = new pg.Client(connection(options))
    const transaction = new PostgresTransaction(client, { catalog: options.catalog, names })
    await client.connect()
    // What is acknowledged must be on disk, also where the server's own default is less.
    await client.query("select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'")
    return transaction
  }

  private constructor(client: pg.Client, options: { catalog: Catalog; names: StatementNames }) {
    super({ ...options, ask: (config) => this.#ask(config) })
    this.#client = client
    client.on("error", (error) => this.#break(error))
    client.on("end", () => this.#break(new Error("The connection ended")))
  }

  /** Fails with the driver's own error. */
  async begin(): Promise<void> {
    this.#toRelease = false
    try {
      await this.#client.query(`begin isolation level read committed; ${writeLock}`)
    } catch (error) {
      if (!isConnectionLost(error)) await this.#client.query("rollback")
      throw error
    }
  }

  lost(): unknown {
    return this.#lost
  }

  async savepoint(): Promise<void> {
    await this.#do("savepoint member")
  }

  async release(): Promise<void> {
    this.#toRelease = true
  }

  async rollbackToSavepoint(): Promise<void> {
    await this.#do("rollback to member; release member")
  }

  /** COMMIT of a transaction that failed is no error for PostgreSQL: it answers that it rolled back. */
  async commit(): Promise<void> {
    const results: unknown = await this.#do("commit").catch((error) => {
      throw this.#lost
        ? new Failure("unavailable", "The connection to the database broke while the change was stored: look whether it was", {
            cause: error,
          })
        : error
    })
    const last = Array.isArray(results) ? results.at(-1) : results
    if (last.command !== "COMMIT") throw new Error(`The database answered COMMIT with ${last.command}`)
  }

  async rollback(): Promise<void> {
    if (!this.#lost) await this.#do("rollback")
  }

  async end(): Promise<void> {
    await this.#client.end().catch(() => {})
  }

  async #do(statement: string): Promise<pg.QueryResult> {
    const text = this.#toRelease ? `release member; ${statement}` : statement
    this.#toRelease = false
    return this.#guarded(() => this.#client.query(text))
  }

  #ask(config: Parameters<Ask>[0]): ReturnType<Ask> {
    return this.#guarded(() => this.#client.query(config))
  }

  async #guarded<T>(query: () => Promise<T>): Promise<T> {
    if (this.#lost) throw this.#lost
    try {
      return await query()
    } catch (error) {
      if (isConnectionLost(error)) this.#break(error)
      throw failureOf(error)
    }
  }

  #break(error: unknown): void {
    this.#lost ??= new Failure("unavailable", "The connection to the database broke", { cause: error })
  }
}
