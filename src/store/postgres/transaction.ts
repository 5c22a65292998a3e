import pg from "pg"
import { Failure } from "#contract"
import type { Transaction } from "../driver.ts"
import type { QueryCompiler } from "../queries/query-compiler.ts"
import { connectionOptions, type PostgresDriverOptions, writeLock } from "./connection.ts"
import { failureOf, isConnectionLost } from "./errors.ts"
import { PostgresQueryRunner, type SendQuery, type StatementNames } from "./query-runner.ts"

/**
 * The writer's connection. There is one per process, which is used for one transaction after
 * another. Statements that do not wait for each other are sent at once.
 */
export class PostgresTransaction extends PostgresQueryRunner implements Transaction {
  readonly #client: pg.Client
  #lost: Failure | undefined
  /**
   * A savepoint to release. The release is sent together with the next such statement, to save a
   * round trip.
   */
  #toRelease = false

  static async connect(options: PostgresDriverOptions, names: StatementNames): Promise<PostgresTransaction> {
    const client = new pg.Client({ ...connectionOptions(options), pipeline: true })
    const transaction = new PostgresTransaction(client, { compiler: options.compiler, names })
    await client.connect()
    // Acknowledged changes must be on disk, even if the server's default is less.
    await client.query("select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'")
    return transaction
  }

  private constructor(client: pg.Client, options: { compiler: QueryCompiler; names: StatementNames }) {
    super({ ...options, send: (config) => this.#send(config) })
    this.#client = client
    client.on("error", (error) => this.#break(error))
    client.on("end", () => this.#break(new Error("The connection ended")))
  }

  /** Rejects with the driver's own error. */
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

  /** Not awaited: if it fails, all that follows fails as well. */
  async savepoint(): Promise<void> {
    this.#do("savepoint member").catch(() => {})
  }

  async release(): Promise<void> {
    this.#toRelease = true
  }

  async rollbackToSavepoint(): Promise<void> {
    await this.#do("rollback to member; release member")
  }

  /** PostgreSQL does not reject COMMIT of a failed transaction: it answers ROLLBACK. */
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

  #send(config: Parameters<SendQuery>[0]): ReturnType<SendQuery> {
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
