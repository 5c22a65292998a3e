import type { DatabaseSync, StatementSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import type { IdentityCheck } from "../database-identity.ts"
import type { Driver, QueryRunner, SearchContext, Transaction, UserScans } from "../driver.ts"
import { LimitedScans } from "../lists/scan-limiter.ts"
import { SearchCounts } from "../lists/search-counts.ts"
import type { QueryCompiler } from "../queries/query-compiler.ts"
import { databaseIdentityOf } from "./database-identity.ts"
import type { DiskReserve } from "./disk-reserve.ts"
import { failureOf, isBusy } from "./errors.ts"
import { SqliteQueryRunner } from "./query-runner.ts"
import { ScanWorker } from "./scan-worker.ts"
import { type FlushFile, WriteAheadLog } from "./write-ahead-log.ts"

/**
 * The interval between attempts to begin while another process writes, in milliseconds. The event
 * loop continues meanwhile.
 */
const busyRetryMs = 20

export interface SqliteDriverOptions {
  writer: DatabaseSync
  reader: DatabaseSync
  compiler: QueryCompiler
  /** Milliseconds to wait for another process that writes. */
  busyTimeoutMs: number
  file: string
  reserve: DiskReserve
  /** As in `StoreOptions`. */
  flush?: FlushFile | undefined
  /** Locked while the database is open. */
  lock: Disposable
}

/** Two connections, so that reads do not see the writer's transaction. */
export class SqliteDriver implements Driver {
  readonly dialect = "sqlite"
  readonly identity: IdentityCheck
  readonly reserve: DiskReserve
  readonly #reads: SqliteReads
  readonly #parts: SqliteDriverOptions
  readonly #transaction: SqliteTransaction
  readonly #scans: ScanWorker
  readonly #log: WriteAheadLog

  constructor(parts: SqliteDriverOptions) {
    this.#parts = parts
    this.identity = databaseIdentityOf(parts.file)
    this.reserve = parts.reserve
    this.#scans = new ScanWorker(parts.file, parts.compiler)
    this.#reads = new SqliteReads(parts.reader, parts.compiler, {
      scans: new LimitedScans(this.#scans),
      search: { isIndexed: true, counts: new SearchCounts() },
    })
    this.#log = new WriteAheadLog(parts.writer, parts.file, parts.flush)
    this.#transaction = new SqliteTransaction(parts.writer, parts.compiler, { reads: this.#reads, log: this.#log })
  }

  get reads(): QueryRunner {
    return this.#reads
  }

  async begin(): Promise<Transaction> {
    for (let waited = 0; ; waited += busyRetryMs) {
      try {
        this.#log.assertSound()
        await this.#log.untilShort({ isDiskFull: !this.reserve.isWhole })
        this.#transaction.begin()
        return this.#transaction
      } catch (error) {
        if (!isBusy(error) || waited >= this.#parts.busyTimeoutMs) throw failureOf(error)
      }
      await sleep(busyRetryMs)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scans[Symbol.asyncDispose]()
    this.#reads.release()
    await this.#log[Symbol.asyncDispose]()
    this.#parts.reader.close()
    this.#parts.writer.close()
    await this.reserve[Symbol.asyncDispose]()
    this.#parts.lock[Symbol.dispose]()
  }
}

/**
 * All reads of one turn of the event loop share a transaction: SQLite acquires and releases its
 * locks once, not per statement. It ends before every COMMIT, so that each read sees all earlier
 * commits and no reader blocks the log's checkpoint. Until a COMMIT is on the disk, reads see what
 * was there before it.
 */
class SqliteReads extends SqliteQueryRunner {
  readonly #begin: StatementSync
  readonly #rollback: StatementSync
  readonly #version: StatementSync
  #open = false
  #isHeld = false

  constructor(db: DatabaseSync, compiler: QueryCompiler, options: { scans: UserScans; search: SearchContext }) {
    super(db, compiler, options)
    this.#begin = db.prepare("begin")
    this.#rollback = db.prepare("rollback")
    this.#version = db.prepare("pragma schema_version")
  }

  protected override beforeStatement(): void {
    if (this.#open) return
    this.#begin.run()
    this.#open = true
    if (!this.#isHeld) setImmediate(this.end)
  }

  /** All reads until `release` see what is committed now. */
  hold(): void {
    this.end()
    this.#isHeld = true
    this.beforeStatement()
    // The first read begins the transaction.
    this.#version.get()
  }

  release(): void {
    this.#isHeld = false
    this.end()
  }

  readonly end = (): void => {
    if (!this.#open || this.#isHeld) return
    this.#open = false
    // Nothing was written. Unlike COMMIT, ROLLBACK also succeeds after an error.
    if (this.db.isTransaction) this.#rollback.run()
  }
}

type Step = "begin" | "savepoint" | "release" | "undo" | "commit" | "rollback"

/** The writer's runner. There is one, which is used for one transaction after another. */
class SqliteTransaction extends SqliteQueryRunner implements Transaction {
  readonly #control: Record<Step, StatementSync>
  readonly #reads: SqliteReads
  readonly #log: WriteAheadLog
  #lost: unknown

  constructor(db: DatabaseSync, compiler: QueryCompiler, { reads, log }: { reads: SqliteReads; log: WriteAheadLog }) {
    super(db, compiler)
    this.#reads = reads
    this.#log = log
    this.#control = {
      begin: db.prepare("begin immediate"),
      savepoint: db.prepare("savepoint member"),
      release: db.prepare("release member"),
      undo: db.prepare("rollback to member"),
      commit: db.prepare("commit"),
      rollback: db.prepare("rollback"),
    }
    // See `runWithBigInts`.
    for (const statement of Object.values(this.#control)) statement.setReadBigInts(true)
  }

  begin(): void {
    this.#lost = undefined
    this.#control.begin.run()
  }

  lost(): unknown {
    return this.db.isTransaction ? undefined : (this.#lost ?? new Error("The transaction ended by itself"))
  }

  /**
   * A full disk and few other errors end the transaction. The next statement would commit by
   * itself.
   */
  protected override toFailure(error: unknown): unknown {
    const failure = failureOf(error)
    if (!this.db.isTransaction) this.#lost ??= failure
    return failure
  }

  protected override beforeStatement(): void {
    if (!this.db.isTransaction) throw this.lost()
  }

  async savepoint(): Promise<void> {
    this.#do("savepoint")
  }

  async release(): Promise<void> {
    this.#do("release")
  }

  async rollbackToSavepoint(): Promise<void> {
    this.#do("undo")
    this.#do("release")
  }

  async commit(): Promise<void> {
    this.#reads.hold()
    try {
      this.#do("commit")
    } catch (error) {
      this.#reads.release()
      throw error
    }
    // After a flush that failed, nobody knows what a restart will find: the reads stay as they are.
    await this.#log.flush()
    this.#reads.release()
    this.#log.foldIfLong()
  }

  async rollback(): Promise<void> {
    if (this.db.isTransaction) this.#do("rollback")
  }

  #do(step: Step): void {
    try {
      this.#control[step].run()
    } catch (error) {
      throw this.toFailure(error)
    }
  }
}
