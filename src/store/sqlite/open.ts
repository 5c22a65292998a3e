import { closeSync, mkdirSync, openSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Logger } from "#kit"
import { StoreError } from "../errors.ts"
import { type Migration, migrations, newestVersion, statementsOf } from "../migrations/index.ts"
import { QueryCompiler } from "../queries/query-compiler.ts"
import { lockPath } from "./database-identity.ts"
import { DiskReserve } from "./disk-reserve.ts"
import { SqliteDriver } from "./driver.ts"
import { isFull, openingError } from "./errors.ts"
import { makeSafetyCopy } from "./safety-copy.ts"

/**
 * Small pages: every commit writes all that it touched, and rows come in at many places of many
 * indexes.
 */
const pragmas = "pragma page_size = 4096; pragma temp_store = memory;"
/**
 * At most so many KiB of pages are kept: the writer's and the reader's. They are taken as they are
 * needed.
 */
const writerCache = "pragma cache_size = -16384;"
const readerCache = "pragma cache_size = -65536;"
/**
 * The log is folded into the database after so many pages (16 MiB), and is not left longer than
 * four times that.
 */
const logPragmas =
  "pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4096; pragma journal_size_limit = 67108864;"
/** SQLite's own waiting blocks the process, so it is short; the driver waits in its own way. */
const busyTimeout = 10

export interface SqliteOptions {
  file: string
  logger: Logger
  now: () => number
  /** Milliseconds to wait for another process that writes. */
  busyTimeoutMs: number
}

/**
 * Opens or makes the database, brings it to the newest version and takes it for this process alone.
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
    const compiler = new QueryCompiler("sqlite")
    const driver = new SqliteDriver({ writer, reader, lock, compiler, file, reserve, busyTimeoutMs: options.busyTimeoutMs })
    cleanup.move()
    return driver
  } catch (error) {
    throw openingError(error, file)
  }
}

/** Who wants to make room on a full disk needs a service that starts there. */
function retryWithReserve<T>(reserve: DiskReserve, work: () => T): T {
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isFull(error) || !reserve.release()) throw error
    }
  }
}

function connect(options: SqliteOptions): { writer: DatabaseSync; reader: DatabaseSync } {
  const { file } = options
  using cleanup = new DisposableStack()
  const writer = new DatabaseSync(file, { timeout: busyTimeout })
  cleanup.defer(() => writer.close())
  writer.exec(`${pragmas} ${writerCache}`)
  const version = versionOf(writer, file)
  prepareWriter(writer)
  migrate(writer, version, options)
  const reader = new DatabaseSync(file, { timeout: busyTimeout, readOnly: true })
  cleanup.defer(() => reader.close())
  reader.exec(`${pragmas} ${readerCache} pragma query_only = on;`)
  cleanup.move()
  return { writer, reader }
}

/**
 * The file holds password hashes: nobody else reads it. SQLite gives its side files the same mode.
 */
function makeFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  closeSync(openSync(file, "a", 0o600))
}

/**
 * SQLite's locks let two processes take turns; two servers on one database would each think that
 * they are the only one.
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
 * Makes commits durable, and shows that the file can be written. Not before it is known to be ours.
 */
export function prepareWriter(writer: DatabaseSync): void {
  // A transaction before anything else shows that the file can be written, whatever its mode says.
  writer.exec("begin immediate; rollback")
  writer.exec(logPragmas)
}

function migrate(writer: DatabaseSync, version: number, options: SqliteOptions): void {
  if (version === newestVersion) return
  if (version > 0) makeSafetyCopy(writer, { ...options, version })
  for (const migration of migrations.slice(version)) {
    writer.exec("begin immediate")
    try {
      if (migration.version === 1) {
        writer.exec("create table migrations (version integer primary key, name text not null, applied_at integer not null) strict")
        writer.exec("create table meta (key text not null primary key, value text not null) without rowid, strict")
      }
      for (const statement of statementsOf(migration, "sqlite")) writer.exec(statement)
      writer.prepare("insert into migrations values (?, ?, ?)").run(migration.version, migration.name, options.now())
      writer.exec("commit")
    } catch (error) {
      if (writer.isTransaction) writer.exec("rollback")
      throw migrationError(error, options.file, migration)
    }
    options.logger.info({ version: migration.version, name: migration.name }, "Database migrated")
  }
}

/** 0: empty. Throws when the database is not ours, or newer than this program. */
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

function migrationError(error: unknown, file: string, migration: Migration): unknown {
  const opening = openingError(error, file)
  if (opening instanceof StoreError) return opening
  const reason = error instanceof Error ? error.message : String(error)
  return new StoreError(
    "migration",
    `The database ${file} could not be brought to version ${migration.version} and is as it was (${reason})`,
    error,
  )
}
