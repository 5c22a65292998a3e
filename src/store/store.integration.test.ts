import assert from "node:assert/strict"
import { DatabaseSync } from "node:sqlite"
import { mock, test } from "node:test"
import { runCases, storeCases } from "./testing/cases/index.ts"
import { sqliteDatabase } from "./testing/databases.ts"

/** Indexes of few rows, and a table of as many rows as the engine has images. */
const small = ["runs_live", "runs_held", "runs_queued", "pulled_images_digest"]
/** Totals are counted in blocks or in a thread of their own. */
const isTotal = /^select count\(\*\)/

const statements = new Set<string>()
const { prepare } = DatabaseSync.prototype
mock.method(DatabaseSync.prototype, "prepare", function (this: DatabaseSync, statement: string) {
  statements.add(statement)
  return prepare.call(this, statement)
})

for (const [subject, cases] of Object.entries(storeCases)) runCases(`The store on SQLite: ${subject}`, cases, sqliteDatabase)

test("no statement of these cases that has no limit reads a whole table", async () => {
  await using database = await sqliteDatabase()
  await (await database.open())[Symbol.asyncDispose]()
  using db = new DatabaseSync(database.url.replace("sqlite:", ""))
  const tables = new Set(namesOf(db, "select name from sqlite_schema where type = 'table'"))
  const reading = [...statements].filter(
    (each) => /^(select|update|delete|with)/.test(each) && !/\blimit\b|sqlite_/.test(each) && !isTotal.test(each),
  )
  assert.ok(reading.length > 100, `${reading.length} statements`)
  for (const statement of reading) {
    const scans = namesOf(db, `explain query plan ${statement}`).filter((step) => {
      const [, table = "", index = ""] = /^SCAN (\S+)(?: USING (?:COVERING )?INDEX (\S+))?$/.exec(step) ?? []
      return tables.has(table) && !small.includes(index)
    })
    assert.deepEqual(scans, [], statement)
  }
})

function namesOf(db: DatabaseSync, statement: string): string[] {
  return prepare
    .call(db, statement)
    .all()
    .map((row) => String(row.detail ?? row.name))
}
