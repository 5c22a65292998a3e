import { closeSync, mkdirSync, openSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Logger } from "#kit"
import { StoreError } from "../errors.ts"
import { type Migration, migrationError, migrations, newestVersion, statementsOf } from "../migrations/index.ts"
import { QueryCompiler } from "../queries/query-compiler.ts"
import { lockPath } from "./database-identity.ts"
import { DiskReserve } from "./disk-reserve.ts"
import { SqliteDriver } from "./driver.ts"
import { isDiskFullError, openingError } from "./errors.ts"
import { makeSafetyCopy } from "./safety-copy.ts"
import type { FlushFile } from "./write-ahead-log.ts"

/**
 * Small pages: every commit writes all pages that it changed, and rows enter many indexes at many
 * places.
 */
const pragmas = "pragma page_size = 4096; pragma temp_store = memory;"
/** The maximum page cache of the writer and of the reader, in KiB. It grows as needed. */
const writerCache = "pragma cache_size = -16384;"
const readerCache = "pragma cache_size = -65536;"
/**
 * For migrations, the log is folded into the database after this many pages (16 MiB). It is
 * truncated to four times that. See `WriteAheadLog` for changes.
 */
const logPragmas =
  "pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4096; pragma journal_size_limit = 67108864;"
/** SQLite's own waiting blocks the process, so it is short; the driver waits without blocking. */
const sqliteBusyTimeoutMs = 10
/** Compiled queries do not depend on the database. */
const compiler = new QueryCompiler("sqlite")

export interface SqliteOptions {
  file: string
  logger: Logger
  now: () => number
  /** Milliseconds to wait for another process that writes. */
  busyTimeoutMs: number
  /** As in `StoreOptions`. */
  flush?: FlushFile | undefined
}

/**
 * Opens or creates the database, migrates it to the newest version and locks it for this process.
 * Throws `StoreError`.
 */
export async function openSqlite(options: SqliteOptions): Promise<SqliteDriver> {
  const file = resolve(options.file)
  await using cleanup = new AsyncDisposableStack()
  try {
    makeFile(file)
    const lock = cleanup.use(acquireLock(file))
    const reserve = cleanup.use(new DiskReserve(file))
    const { writer, reader } = retryWithReserve(reserve, () => connect({ ...options, file }))
    cleanup.defer(() => writer.close())
    cleanup.defer(() => reader.close())
    const { busyTimeoutMs, flush } = options
    const driver = new SqliteDriver({ writer, reader, lock, compiler, file, reserve, busyTimeoutMs, flush })
    cleanup.move()
    return driver
  } catch (error) {
    throw openingError(error, file)
  }
}

/**
 * Retries with released parts of the reserve: people can only delete files if the service starts on
 * a full disk.
 */
function retryWithReserve<T>(reserve: DiskReserve, work: () => T): T {
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isDiskFullError(error) || !reserve.release()) throw error
    }
  }
}

function connect(options: SqliteOptions): { writer: DatabaseSync; reader: DatabaseSync } {
  const { file } = options
  using cleanup = new DisposableStack()
  const writer = new DatabaseSync(file, { timeout: sqliteBusyTimeoutMs })
  cleanup.defer(() => writer.close())
  writer.exec(`${pragmas} ${writerCache}`)
  const version = versionOf(writer, file)
  prepareWriter(writer)
  migrate(writer, version, options)
  const reader = new DatabaseSync(file, { timeout: sqliteBusyTimeoutMs, readOnly: true })
  cleanup.defer(() => reader.close())
  reader.exec(`${pragmas} ${readerCache} pragma query_only = on;`)
  cleanup.move()
  return { writer, reader }
}

/**
 * Only this user may read the file: it contains password hashes. SQLite creates its side files with
 * the same mode.
 */
function makeFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  closeSync(openSync(file, "a", 0o600))
}

/**
 * SQLite's own locks would let two servers share a database, and each would act as the only one.
 */
function acquireLock(file: string): Disposable {
  const path = lockPath(file)
  closeSync(openSync(path, "a", 0o600))
  const db = new DatabaseSync(path)
  try {
    db.exec("pragma journal_mode = memory; begin exclusive")
  } catch (error) {
    db.close()
    throw error
  }
  return { [Symbol.dispose]: () => db.close() }
}

/**
 * Makes commits durable, and checks that the file can be written. Call it only once the file is
 * known to be Quayside's.
 */
export function prepareWriter(writer: DatabaseSync): void {
  // Only a transaction shows that the file can be written: its mode does not.
  writer.exec("begin immediate; rollback")
  writer.exec(logPragmas)
}

/** All migrations are one transaction: an upgrade that fails changes nothing. */
function migrate(writer: DatabaseSync, version: number, options: SqliteOptions): void {
  if (version === newestVersion) return
  if (version > 0) makeSafetyCopy(writer, { ...options, version })
  const pending = migrations.slice(version)
  writer.exec("begin immediate")
  try {
    for (const migration of pending) applyMigration(writer, migration, options)
    writer.exec("commit")
  } catch (error) {
    if (writer.isTransaction) writer.exec("rollback")
    throw error
  }
  for (const { version, name } of pending) options.logger.info({ version, name }, "Database migrated")
}

function applyMigration(writer: DatabaseSync, migration: Migration, { file, now }: SqliteOptions): void {
  try {
    if (migration.version === 1) {
      writer.exec("create table migrations (version integer primary key, name text not null, applied_at integer not null) strict")
      writer.exec("create table meta (key text not null primary key, value text not null) without rowid, strict")
    }
    for (const statement of statementsOf(migration, "sqlite")) writer.exec(statement)
    writer.prepare("insert into migrations values (?, ?, ?)").run(migration.version, migration.name, now())
  } catch (error) {
    throw migrationError(openingError(error, file), file, migration)
  }
}

/** 0 for an empty database. Throws if it is another program's, or newer than this program. */
function versionOf(db: DatabaseSync, file: string): number {
  const count = db.prepare("select count(*) as count from sqlite_schema where name not like 'sqlite_%'").get()?.count
  if (count === 0) return 0
  const ours = db.prepare("select group_concat(name) as names from pragma_table_info('migrations')").get()?.names
  if (ours !== "version,name,applied_at") throw new StoreError("foreign", `The file ${file} is an SQLite database, but not one of Quayside`)
  const version = Number(db.prepare("select coalesce(max(version), 0) as version from migrations").get()?.version)
  if (version <= newestVersion) return version
  const text = `The database ${file} is of version ${version}, made by a newer Quayside; this one knows versions up to ${newestVersion}`
  throw new StoreError("newer", text)
}
