import assert from "node:assert/strict"
import { DatabaseSync } from "node:sqlite"
import { mock, test } from "node:test"
import { runCases, storeCases } from "./testing/cases/index.ts"
import { sqliteDatabase } from "./testing/databases.ts"
import { addImage, addUser } from "./testing/samples.ts"

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

test("the grants that a person sees, and their number, are found by indexes among everybody's", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const { id: resourceId } = await addImage(store, ann.id)
  const grant = { resourceType: "image", resourceId, ownerId: ann.id, userId: ann.id, groupId: 0, access: "read" } as const
  await store.change((tx) => tx.grants.put({ ...grant, expiresAt: null, createdBy: ann.id }))
  statements.clear()
  const viewer = { userId: ann.id, groupIds: [1], seesAll: false }
  assert.equal((await store.grants.list({}, viewer, { page: 1, pageSize: 20 })).rows.length, 1)
  using db = new DatabaseSync(database.url.replace("sqlite:", ""))
  const lists = [...statements].filter((each) => /from "grants"/.test(each))
  assert.equal(lists.length, 2)
  for (const statement of lists) {
    assert.deepEqual(
      namesOf(db, `explain query plan ${statement}`).filter((step) => /^SCAN grants/.test(step)),
      [],
      statement,
    )
  }
})

test("each dataset below a path is looked up among a viewer's grants, of which not all are read", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  statements.clear()
  await store.data.visibleBelow("/shared", { userId: 1, groupIds: [1], seesAll: false })
  using db = new DatabaseSync(database.url.replace("sqlite:", ""))
  const [statement = ""] = [...statements].filter((each) => /from grants/.test(each))
  const steps = namesOf(db, `explain query plan ${statement}`).filter((step) => /SEARCH grants/.test(step))
  for (const column of ["user_id", "group_id"])
    assert.ok(
      steps.some((step) => step.includes(`(${column}=? AND thing_type=? AND thing_id=?`)),
      steps.join("\n"),
    )
})

function namesOf(db: DatabaseSync, statement: string): string[] {
  return prepare
    .call(db, statement)
    .all()
    .map((row) => String(row.detail ?? row.name))
}
