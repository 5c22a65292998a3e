// Writes the fixtures of a version: the fixtures of the version before it, and its migration. The
// tests of upgrades read them.
//   node src/store/testing/write-fixtures.ts VERSION

import { execFileSync } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { type Dialect, migrations, statementsOf } from "../migrations/index.ts"
import { newestBinaries, postgresServer } from "./postgres.ts"
import { fixture, fixtureUrl } from "./upgrades.ts"

const version = Number(process.argv[2])
const migration = migrations[version - 1]
if (!migration || version < 2) throw new Error(`A version from 2 to ${migrations.length} is wanted, got ${process.argv[2]}`)
const recorded = `insert into migrations values (${version}, '${migration.name}', 0)`
const before = (dialect: Dialect) => fixture(dialect, version - 1)

await writeFixture("sqlite", await ofSqlite())
await writeFixture("postgres", await ofPostgres())

async function writeFixture(dialect: Dialect, statements: string): Promise<void> {
  await writeFile(fixtureUrl(dialect, version), `-- A database of version ${version}, as it was left behind.\n${statements}`)
}

async function ofSqlite(): Promise<string> {
  using db = new DatabaseSync(":memory:")
  db.exec(await before("sqlite"))
  for (const statement of [...statementsOf(migration as never, "sqlite"), recorded]) db.exec(statement)
  const created = db
    .prepare("select type, name, sql from sqlite_schema where sql is not null and name not like 'sqlite_%' order by rowid")
    .all()
  // The tables behind a full-text index are created with it; its missing rows are in
  // `search_pending`.
  const tables = created.filter(({ type, name }) => type === "table" && !/_search_(data|idx|docsize|config)$/.test(String(name)))
  const lines = ["pragma journal_mode = wal", ...tables.map(({ sql }) => String(sql))]
  for (const { name, sql } of tables) if (!/^create virtual/i.test(String(sql))) lines.push(...rowsOf(db, String(name)))
  lines.push(...created.filter(({ type }) => type !== "table").map(({ sql }) => String(sql)))
  return lines.map((line) => `${line};\n`).join("")
}

function rowsOf(db: DatabaseSync, table: string): string[] {
  const quote = db.prepare("select quote(?) as text")
  return db
    .prepare(`select * from ${table}`)
    .all()
    .map((row) => {
      const values = Object.values(row).map((value) => quote.get(value as SQLInputValue)?.text)
      return `insert into ${table} (${Object.keys(row).join(", ")}) values (${values.join(", ")})`
    })
}

async function ofPostgres(): Promise<string> {
  await using server = await postgresServer()
  await using database = await server.make()
  const client = await server.connect(new URL(database.url).pathname.slice(1))
  try {
    await client.query(await before("postgres"))
    await client.query("set search_path to public")
    for (const statement of [...statementsOf(migration as never, "postgres"), recorded]) await client.query(statement)
  } finally {
    await client.end()
  }
  const options = ["--inserts", "--column-inserts", "--no-owner", "--no-privileges", "--schema=public", `--dbname=${database.url}`]
  const dump = execFileSync(`${await newestBinaries()}/pg_dump`, options, { encoding: "utf8" })
  const remaining = dump
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("--") && !line.startsWith("\\") && !line.startsWith("CREATE SCHEMA"))
  const text = `${remaining.join("\n")}\n`
  return text.includes("gin_trgm_ops") ? `create extension if not exists pg_trgm;\n${text}` : text
}
