import assert from "node:assert/strict"
import { copyFile, readdir, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { Failure } from "#contract"
import { sqliteDatabase, type TestDatabase, testDatabase } from "../testing/databases.ts"
import { assertOpenFails } from "../testing/open-errors.ts"
import { startProgram } from "../testing/process.ts"
import { addImage, addUser } from "../testing/samples.ts"
import { unrestrictedViewer } from "../viewer.ts"
import { prepareWriter } from "./open.ts"

const fileOf = (database: TestDatabase) => database.url.slice("sqlite:".length)
const firstPage = { page: 1, pageSize: 1 }

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await sqliteDatabase()
  const store = await database.open()
  await store[Symbol.asyncDispose]()
  return database
}

test("`openStore` rejects a file that is no database and leaves it unchanged", async () => {
  await using database = await sqliteDatabase()
  const text = "this is not a database, ".repeat(2000)
  await writeFile(fileOf(database), text)
  await assertOpenFails(database, "corrupt", /is damaged or is not an SQLite database/)
  assert.equal(await readFile(fileOf(database), "utf8"), text)
})

test("`openStore` rejects a database whose first pages are damaged", async () => {
  await using database = await emptyDatabase()
  const bytes = await readFile(fileOf(database))
  await writeFile(fileOf(database), bytes.fill(0x5a, 100, 8000))
  await assertOpenFails(database, "corrupt", /is damaged/)
})

test("a request that reads a damaged page fails, and other requests succeed", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  await Promise.all(Array.from({ length: 300 }, () => addImage(store, ann.id, { doc: "x".repeat(3000) })))
  await store[Symbol.asyncDispose]()
  const bytes = await readFile(fileOf(database))
  await writeFile(fileOf(database), bytes.fill(0x5a, 8192 * 60))
  await using repeated = await database.open()
  const meets = Promise.all(Array.from({ length: 300 }, (_, i) => repeated.images.get(i + 1)))
  await assert.rejects(meets, (error) => error instanceof Failure && error.code === "unavailable" && /damaged/.test(error.message))
  assert.equal((await repeated.users.get(ann.id))?.userName, "ann")
})

test("`openStore` rejects another program's database and leaves it unchanged", async () => {
  await using database = await sqliteDatabase()
  const db = new DatabaseSync(fileOf(database))
  db.exec("create table migrations (id integer, migration text); create table notes (text)")
  db.close()
  const before = await readFile(fileOf(database))
  await assertOpenFails(database, "foreign", /is an SQLite database, but not one of Quayside/)
  assert.deepEqual(await readFile(fileOf(database)), before)
})

test("`openStore` rejects a database of a newer version and leaves it unchanged", async () => {
  await using database = await emptyDatabase()
  const db = new DatabaseSync(fileOf(database))
  db.exec("insert into migrations values (99, 'later', 0)")
  db.close()
  const before = await readFile(fileOf(database))
  await assertOpenFails(database, "newer", /version 99, made by a newer Quayside; this one knows versions up to \d+/)
  assert.deepEqual(await readFile(fileOf(database)), before)
})

test("`openStore` rejects a database that another server has open, until that server ends", async () => {
  await using database = await emptyDatabase()
  await using other = startProgram("open", database.url)
  assert.match((await other.line()) ?? "", /^[0-9a-f]{32}$/)
  await assertOpenFails(database, "locked", /is in use by another process/)
  await other.kill()
  await using store = await database.open()
  await addUser(store, "ann")
})

test("`openStore` rejects a database that this process has open", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  await assertOpenFails(database, "locked", /is in use by another process/)
  await addUser(store, "ann")
})

test("`openStore` rejects a database that another program has locked", async () => {
  await using database = await emptyDatabase()
  const other = new DatabaseSync(fileOf(database))
  other.exec("begin immediate")
  await assertOpenFails(database, "locked", /is in use by another process/)
  other.close()
  await using store = await database.open()
  await addUser(store, "ann")
})

test("changes wait while another program writes, and fail after the timeout", async () => {
  await using database = await sqliteDatabase()
  const opened = await database.open()
  const ann = await addUser(opened, "ann")
  await opened[Symbol.asyncDispose]()
  const impatient = await database.open({ changeTimeoutMs: 200 })
  const other = new DatabaseSync(fileOf(database))
  other.exec("begin immediate")
  const refused = Promise.all([assertUnavailable(addImage(impatient, ann.id)), assertUnavailable(addImage(impatient, ann.id))])
  assert.equal((await impatient.users.get(ann.id))?.userName, "ann")
  await refused
  other.exec("rollback")
  await impatient[Symbol.asyncDispose]()
  await using store = await database.open()
  other.exec("begin immediate")
  const waiting = addImage(store, ann.id)
  // By then it has tried, and found the other one writing.
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve))
  other.exec("rollback")
  await waiting
  other.close()
  assert.equal((await store.images.list({}, unrestrictedViewer, firstPage)).total, 1)
})

async function assertUnavailable(work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => error instanceof Failure && error.code === "unavailable" && error.status === 503)
}

test("acknowledged changes survive kill -9 completely", async () => {
  await using database = await sqliteDatabase()
  const store = await database.open()
  const ann = await addUser(store, "ann")
  await store[Symbol.asyncDispose]()
  const acknowledged: number[] = []
  for (let round = 1; round <= 3; round += 1) {
    await using writer = startProgram("write", database.url, String(ann.id))
    while (acknowledged.length < round * 300) acknowledged.push(Number(await writer.line()))
    acknowledged.push(...(await writer.kill()).map(Number))
    await using repeated = await database.open()
    assert.equal((await repeated.images.getMany(acknowledged)).length, acknowledged.length)
    const { total } = await repeated.images.list({}, unrestrictedViewer, firstPage)
    assert.equal((await repeated.audits.list({}, unrestrictedViewer, firstPage)).total, total)
    assert.equal((await repeated.events.after(0, 1_000_000)).length, total)
  }
})

test("a migration is on the disk before it is done", () => {
  const db = new DatabaseSync(":memory:")
  prepareWriter(db)
  assert.equal(db.prepare("pragma synchronous").get()?.synchronous, 2)
  db.close()
})

test("only its owner can read the database", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  await addUser(store, "ann")
  const directory = join(fileOf(database), "..")
  for (const name of await readdir(directory)) assert.equal((await stat(join(directory, name))).mode & 0o077, 0, name)
})

test("a copy of the file alone, made while nobody writes, is a complete database", async () => {
  await using database = await sqliteDatabase()
  const store = await database.open()
  const ann = await addUser(store, "ann")
  await store[Symbol.asyncDispose]()
  await using copy = await sqliteDatabase()
  await copyFile(fileOf(database), fileOf(copy))
  await using repeated = await copy.open()
  assert.deepEqual(await repeated.users.get(ann.id), ann)
})

test("`openStore` rejects a URL that names no database", async () => {
  for (const url of ["", "sqlite:", "sqlite::memory:", "mysql://x", "postgres:x", "postgres://[", "/tmp/x.db"]) {
    await assertOpenFails(
      testDatabase(url, async () => {}),
      "url",
      /wanted/,
    )
  }
})
