import pg from "pg"
import type { Logger } from "#kit"
import { StoreError } from "../errors.ts"
import { migrationError, migrations, newestVersion, statementsOf } from "../migrations/index.ts"
import { QueryCompiler } from "../queries/query-compiler.ts"
import { writeLock } from "./connection.ts"
import { databaseIdentityOf } from "./database-identity.ts"
import { PostgresDriver } from "./driver.ts"
import { openingError } from "./errors.ts"

export interface PostgresOptions {
  url: string
  logger: Logger
  now: () => number
  /** Maximum time of a statement in milliseconds; half of it for a pause in a transaction. */
  timeoutMs: number
}

/**
 * Connects, and migrates the database to the newest version. Several processes may do so at once.
 * Throws `StoreError`.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDriver> {
  const where = nameOf(options.url)
  try {
    const client = new pg.Client({ connectionString: options.url, connectionTimeoutMillis: 5_000, application_name: "quayside" })
    client.on("error", () => {})
    try {
      await client.connect()
      await migrate(client, { ...options, where })
      const identity = await databaseIdentityOf(client)
      const hasTrigrams = await isIndexed(client)
      return new PostgresDriver({ ...options, identity, hasTrigrams, compiler: new QueryCompiler("postgres") })
    } finally {
      await client.end()
    }
  } catch (error) {
    throw openingError(error, where)
  }
}

/** Whether the extension for trigrams was available when the database was migrated. */
async function isIndexed(client: pg.Client): Promise<boolean> {
  return (await client.query("select to_regclass('images_search') is not null as found")).rows[0].found
}

/** The database's name for messages: without user and password. */
function nameOf(text: string): string {
  const url = URL.parse(text.replace("@/", "@localhost/"))
  if (url === null) throw new StoreError("url", "The database URL is not one: postgres://user:password@host:5432/name is wanted")
  const host = url.searchParams.get("host") ?? url.host
  return `${decodeURIComponent(url.pathname.slice(1)) || "postgres"} at ${host || "localhost"}`
}

interface Migrate extends PostgresOptions {
  where: string
}

/**
 * One transaction under the writers' lock: of several processes that start at once, one migrates,
 * and the others find the new version.
 */
async function migrate(client: pg.Client, options: Migrate): Promise<void> {
  const encoding = (await client.query("show server_encoding")).rows[0].server_encoding
  if (encoding !== "UTF8") throw new StoreError("foreign", `The database ${options.where} stores text as ${encoding}; it must be UTF8`)
  await client.query("begin isolation level read committed; set local lock_timeout = '60s'")
  await client.query(writeLock)
  const version = await versionOf(client, options.where)
  if (version > newestVersion) {
    const text = `The database ${options.where} is of version ${version}, made by a newer Quayside; this one knows versions up to ${newestVersion}`
    throw new StoreError("newer", text)
  }
  if (version === 0) {
    await client.query("create table migrations (version bigint primary key, name text not null, applied_at bigint not null)")
    await client.query('create table meta (key text collate "C" primary key, value text not null)')
  }
  for (const migration of migrations.slice(version)) {
    try {
      for (const statement of statementsOf(migration, "postgres")) await client.query(statement)
      await client.query("insert into migrations values ($1, $2, $3)", [migration.version, migration.name, options.now()])
    } catch (error) {
      throw migrationError(openingError(error, options.where), options.where, migration)
    }
    options.logger.info({ version: migration.version, name: migration.name }, "Database migrated")
  }
  await client.query("commit")
}

/** 0 for an empty database. */
async function versionOf(client: pg.Client, where: string): Promise<number> {
  const found = await client.query("select to_regclass('migrations') is not null as ours, to_regclass('users') is not null as others")
  const { ours, others } = found.rows[0]
  if (!ours && !others) return 0
  const foreign = new StoreError("foreign", `The database ${where} holds tables that are not Quayside's; give Quayside one of its own`)
  if (!ours) throw foreign
  const columns = await client.query(
    "select 1 from pg_attribute where attrelid = to_regclass('migrations') and attname in ('version', 'name', 'applied_at')",
  )
  if (columns.rowCount !== 3) throw foreign
  return Number((await client.query("select coalesce(max(version), 0) as version from migrations")).rows[0].version)
}
