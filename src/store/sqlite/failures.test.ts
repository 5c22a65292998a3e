import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { Failure } from "#contract"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { StoreError, type StoreErrorKind } from "../errors.ts"
import type { Change, Store } from "../store.ts"
import { sqliteDatabase, type TestDatabase, testDatabase } from "../testing/databases.ts"
import { startProgram } from "../testing/process.ts"
import { addImage, addUser, imageRow } from "../testing/samples.ts"
import { prepareWriter } from "./open.ts"

const fileOf = (database: TestDatabase) => database.url.slice("sqlite:".length)
const everything = { userId: 0, groupIds: [], everything: true }
const firstPage = { page: 1, pageSize: 1 }

function refuses(database: Pick<TestDatabase, "open">, kind: StoreErrorKind, message: RegExp): Promise<void> {
  return assert.rejects(database.open(), (error) => {
    assert.ok(error instanceof StoreError, String(error))
    assert.equal(error.kind, kind)
    assert.match(error.message, message)
    return true
  })
}

const isFull = (error: unknown) => error instanceof Failure && error.code === "storage_full"

/** A file system of so many KiB. */
async function smallDisk(size: number): Promise<TestDatabase & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), "quayside-disk-"))
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}k`, "tmpfs", path])
  const database = testDatabase(`sqlite:${join(path, "data/quayside.db")}`, async () => {
    execFileSync("umount", ["-l", path])
    await rm(path, { recursive: true })
  })
  return { ...database, path }
}

/** Takes all room but a few bytes. */
async function fillUp(path: string): Promise<string> {
  const reserve = join(path, "ballast")
  for (let size = 1 << 20; size >= 1; size >>= 1) {
    const before = (await readFile(reserve).catch(() => Buffer.alloc(0))).length
    await writeFile(reserve, Buffer.alloc(size), { flag: "a" }).catch(() => {})
    if ((await stat(reserve)).size - before === size) size <<= 1
  }
  return reserve
}

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await sqliteDatabase()
  const store = await database.open()
  await store[Symbol.asyncDispose]()
  return database
}

test("A file that is no database is refused and left as it is", async () => {
  await using database = await sqliteDatabase()
  const text = "this is not a database, ".repeat(2000)
  await writeFile(fileOf(database), text)
  await refuses(database, "corrupt", /is damaged or is not an SQLite database/)
  assert.equal(await readFile(fileOf(database), "utf8"), text)
})

test("A damaged database is refused when its first pages are wrong", async () => {
  await using database = await emptyDatabase()
  const bytes = await readFile(fileOf(database))
  await writeFile(fileOf(database), bytes.fill(0x5a, 100, 8000))
  await refuses(database, "corrupt", /is damaged/)
})

test("Damage that shows later is a failure of the request that meets it", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  await Promise.all(Array.from({ length: 300 }, () => addImage(store, ann.id, { doc: "x".repeat(3000) })))
  await store[Symbol.asyncDispose]()
  const bytes = await readFile(fileOf(database))
  await writeFile(fileOf(database), bytes.fill(0x5a, 8192 * 60))
  await using again = await database.open()
  const meets = Promise.all(Array.from({ length: 300 }, (_, i) => again.images.get(i + 1)))
  await assert.rejects(meets, (error) => error instanceof Failure && error.code === "unavailable" && /damaged/.test(error.message))
  assert.equal((await again.users.get(ann.id))?.userName, "ann")
})

test("A database of another program is refused and left as it is", async () => {
  await using database = await sqliteDatabase()
  const db = new DatabaseSync(fileOf(database))
  db.exec("create table migrations (id integer, migration text); create table notes (text)")
  db.close()
  const before = await readFile(fileOf(database))
  await refuses(database, "foreign", /is an SQLite database, but not one of Quayside/)
  assert.deepEqual(await readFile(fileOf(database)), before)
})

test("A database of a newer version is refused and left as it is", async () => {
  await using database = await emptyDatabase()
  const db = new DatabaseSync(fileOf(database))
  db.exec("insert into migrations values (99, 'later', 0)")
  db.close()
  const before = await readFile(fileOf(database))
  await refuses(database, "newer", /version 99, made by a newer Quayside; this one knows versions up to \d+/)
  assert.deepEqual(await readFile(fileOf(database)), before)
})

test("A database that another server has open is refused until that server is gone", async () => {
  await using database = await emptyDatabase()
  await using other = startProgram("hold", database.url)
  assert.match((await other.line()) ?? "", /^[0-9a-f]{32}$/)
  await refuses(database, "locked", /is in use by another process/)
  await other.kill()
  await using store = await database.open()
  await addUser(store, "ann")
})

test("A database that this process has open already is refused", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  await refuses(database, "locked", /is in use by another process/)
  await addUser(store, "ann")
})

test("A database that another program holds for itself is refused", async () => {
  await using database = await emptyDatabase()
  const other = new DatabaseSync(fileOf(database))
  other.exec("begin immediate")
  await refuses(database, "locked", /is in use by another process/)
  other.close()
  await using store = await database.open()
  await addUser(store, "ann")
})

test("Changes wait for another program that writes, and are refused when it takes too long", async () => {
  await using database = await sqliteDatabase()
  const made = await database.open()
  const ann = await addUser(made, "ann")
  await made[Symbol.asyncDispose]()
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
  assert.equal((await store.images.list({}, everything, firstPage)).total, 1)
})

async function assertUnavailable(work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => error instanceof Failure && error.code === "unavailable" && error.status === 503)
}

test("A directory that cannot be written is refused", async () => {
  await using disk = await smallDisk(4096)
  const store = await disk.open()
  await store[Symbol.asyncDispose]()
  execFileSync("mount", ["-o", "remount,ro", disk.path])
  await refuses(disk, "not_writable", /must be writable, and are not/)
  const fresh = testDatabase(`sqlite:${join(disk.path, "new/quayside.db")}`, async () => {})
  await refuses(fresh, "not_writable", /must be writable, and are not/)
  const below = testDatabase(`sqlite:${join(disk.path, "data/quayside.db/x/y.db")}`, async () => {})
  await refuses(below, "not_writable", /must be writable, and are not/)
})

test("A full disk refuses a new database, which is made when there is room", async () => {
  await using disk = await smallDisk(2048)
  const reserve = await fillUp(disk.path)
  await refuses(disk, "full", /disk that holds the database .* is full/)
  await rm(reserve)
  await using store = await disk.open()
  await addUser(store, "ann")
})

/** Adds images until the disk is full; gives the IDs that were acknowledged. */
async function addUntilFull(store: Store, userId: number): Promise<number[]> {
  const ids: number[] = []
  for (;;) {
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => addImage(store, userId, { doc: "x".repeat(4000) })))
    for (const result of results) {
      if (result.status === "fulfilled") ids.push(result.value.id)
      else assert.ok(isFull(result.reason), String(result.reason))
    }
    if (results.every((result) => result.status === "rejected")) return ids
  }
}

test("On a full disk changes are refused, reads go on, nothing acknowledged is lost, and work goes on when there is room", async () => {
  await using disk = await smallDisk(6144)
  const store = await disk.open()
  const ann = await addUser(store, "ann")
  await writeFile(join(disk.path, "ballast"), Buffer.alloc(1 << 20))
  const ids = await addUntilFull(store, ann.id)
  assert.ok(ids.length > 20)
  assert.equal((await store.images.list({}, everything, firstPage)).total, ids.length)
  await rm(join(disk.path, "ballast"))
  await store.check()
  ids.push((await addImage(store, ann.id)).id)
  await store[Symbol.asyncDispose]()
  await using again = await disk.open()
  assert.deepEqual(
    (await again.images.getMany(ids)).map((row) => row.id),
    ids,
  )
  assert.equal((await again.images.list({}, everything, firstPage)).total, ids.length)
})

test("The check tells that the disk is full, and that it is not any more", async () => {
  await using disk = await smallDisk(4096)
  await using store = await disk.open()
  const reserve = await fillUp(disk.path)
  await assert.rejects(store.check(), isFull)
  await rm(reserve)
  await store.check()
})

/** What is kept back on a disk of so many KiB, once it has its size: a sixteenth. */
async function ballastOf(disk: { path: string }, kib: number): Promise<string> {
  const path = join(disk.path, "data/quayside.db.ballast")
  await eventually("room is kept back", async () => (await stat(path)).size === (kib * 1024) / 16)
  return path
}

test("On a full disk what is urgent is written with room that was kept back for it, which nobody else gets, and which is kept back again when there is room", async () => {
  await using disk = await smallDisk(32 * 1024)
  const open = () => disk.open()
  const store = await open()
  const ann = await addUser(store, "ann")
  const reserve = await ballastOf(disk, 32 * 1024)
  const whole = (await stat(reserve)).size
  const filling = await fillUp(disk.path)
  const ids = await addUntilFull(store, ann.id)
  const urgent = () => store.change((tx) => tx.images.insert(imageRow(ann.id, { doc: "x".repeat(10_000) })), { urgent: true })
  for (let i = 0; i < 10; i += 1) {
    const [first, ordinary, second] = await Promise.allSettled([urgent(), addImage(store, ann.id), urgent()])
    assert.ok(ordinary.status === "rejected" && isFull(ordinary.reason), "what is not urgent gets nothing of it")
    for (const each of [first, second]) ids.push(each.status === "fulfilled" ? each.value.id : assert.fail(String(each.reason)))
  }
  assert.ok((await stat(reserve)).size < whole)
  await assert.rejects(store.check(), isFull)
  await rm(filling)
  const added = () =>
    addImage(store, ann.id).then(
      ({ id }) => ids.push(id) > 0,
      () => false,
    )
  await eventually("others may write", added)
  assert.equal((await stat(reserve)).size, whole, "before anybody else gets the room")
  await fillUp(disk.path)
  ids.push((await urgent()).id)
  await store[Symbol.asyncDispose]()

  const again = await open()
  assert.equal((await again.images.getMany(ids)).length, ids.length)
  await rm(filling)
  await addImage(again, ann.id)
  await again[Symbol.asyncDispose]()
  await using last = await open()
  assert.equal((await last.images.getMany(ids)).length, ids.length)
  await ballastOf(disk, 32 * 1024)
})

test("What is urgent is refused, too, when nothing is left of what was kept back, and then nothing is lost", async () => {
  await using disk = await smallDisk(16 * 1024)
  await using store = await disk.open()
  const ann = await addUser(store, "ann")
  const reserve = await ballastOf(disk, 16 * 1024)
  await fillUp(disk.path)
  const ids = await addUntilFull(store, ann.id)
  for (;;) {
    const made = await store
      .change((tx) => tx.images.insert(imageRow(ann.id, { doc: "x".repeat(60_000) })), { urgent: true })
      .catch((err) => err)
    if (made instanceof Error) {
      assert.ok(isFull(made), String(made))
      break
    }
    ids.push(made.id)
  }
  assert.equal((await stat(reserve)).size, 0)
  assert.equal((await store.images.getMany(ids)).length, ids.length)
})

test("A database is opened on a disk that is full, whether its server was killed or closed it", async () => {
  await using disk = await smallDisk(32 * 1024)
  const made = await disk.open()
  const ann = await addUser(made, "ann")
  await ballastOf(disk, 32 * 1024)
  await made[Symbol.asyncDispose]()
  const filling = await fillUp(disk.path)
  const closed = await disk.open()
  assert.equal((await closed.users.get(ann.id))?.userName, "ann")
  await closed[Symbol.asyncDispose]()
  await rm(filling)
  await using writer = startProgram("write", disk.url, String(ann.id))
  const acknowledged = [Number(await writer.line())]
  await fillUp(disk.path)
  acknowledged.push(...(await writer.kill()).map(Number))
  await fillUp(disk.path)
  await using store = await disk.open()
  assert.equal((await store.images.getMany(acknowledged)).length, acknowledged.length)
  await store.change((tx) => tx.users.setDeleted(ann.id, true), { urgent: true })
})

test("A change too large for the disk is refused alone, and those of its group are kept", async () => {
  await using disk = await smallDisk(6144)
  await using store = await disk.open()
  const ann = await addUser(store, "ann")
  // More than the connection keeps in memory, so that the disk is full in the middle of the change
  // and not only at its end. Work that goes on whatever happens, one by one or all at once, must
  // not write outside of its transaction either.
  const part = (tx: Change) => tx.images.insert(imageRow(ann.id, { name: "large", doc: "x".repeat(250_000) })).catch(() => {})
  const oneByOne = store.change(async (tx) => {
    for (let i = 0; i < 100; i += 1) await part(tx)
  })
  const small = (name: string) => addImage(store, ann.id, { name })
  const first = small("a")
  const atOnce = store.change((tx) => Promise.all(Array.from({ length: 100 }, () => part(tx))))
  const results = await Promise.allSettled([
    oneByOne,
    first,
    atOnce,
    small("b"),
    store.change((tx) => Promise.all([part(tx), part(tx)])),
    small("c"),
  ])
  assert.deepEqual(
    results.map((result) => result.status),
    ["rejected", "fulfilled", "rejected", "fulfilled", "fulfilled", "fulfilled"],
  )
  for (const result of results) if (result.status === "rejected") assert.ok(isFull(result.reason), String(result.reason))
  const { rows } = await store.images.list({ sort: { by: "id", descending: false } }, everything, { page: 1, pageSize: 200 })
  assert.deepEqual(
    rows.map((row) => row.name),
    ["a", "b", "large", "large", "c"],
  )
})

test("What was acknowledged survives kill -9, whole", async () => {
  await using database = await sqliteDatabase()
  const store = await database.open()
  const ann = await addUser(store, "ann")
  await store[Symbol.asyncDispose]()
  const acknowledged: number[] = []
  for (let round = 1; round <= 3; round += 1) {
    await using writer = startProgram("write", database.url, String(ann.id))
    while (acknowledged.length < round * 300) acknowledged.push(Number(await writer.line()))
    acknowledged.push(...(await writer.kill()).map(Number))
    await using again = await database.open()
    assert.equal((await again.images.getMany(acknowledged)).length, acknowledged.length)
    const { total } = await again.images.list({}, everything, firstPage)
    assert.equal((await again.audits.list({}, firstPage)).total, total)
    assert.equal((await again.events.after(0, 1_000_000)).length, total)
  }
})

test("A commit is on the disk before it is acknowledged", () => {
  const db = new DatabaseSync(":memory:")
  prepareWriter(db)
  assert.equal(db.prepare("pragma synchronous").get()?.synchronous, 2)
  db.close()
})

test("The database is readable by its owner alone", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  await addUser(store, "ann")
  const directory = join(fileOf(database), "..")
  for (const name of await readdir(directory)) assert.equal((await stat(join(directory, name))).mode & 0o077, 0, name)
})

test("A copy of the file alone, made while nobody writes, is a whole database", async () => {
  await using database = await sqliteDatabase()
  const store = await database.open()
  const ann = await addUser(store, "ann")
  await store[Symbol.asyncDispose]()
  await using copy = await sqliteDatabase()
  await copyFile(fileOf(database), fileOf(copy))
  await using again = await copy.open()
  assert.deepEqual(await again.users.get(ann.id), ann)
})

test("A URL that names no database is refused", async () => {
  for (const url of ["", "sqlite:", "sqlite::memory:", "mysql://x", "postgres:x", "postgres://[", "/tmp/x.db"]) {
    await refuses(
      testDatabase(url, async () => {}),
      "url",
      /wanted/,
    )
  }
})
