import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { stat } from "node:fs/promises"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { Failure } from "#contract"
import { sqliteDatabase, type TestDatabase } from "../testing/databases.ts"
import { addImage, addUser } from "../testing/samples.ts"
import { WriteAheadLog } from "./write-ahead-log.ts"

const fileOf = (database: TestDatabase) => database.url.slice("sqlite:".length)
const isUnavailable = (error: unknown) => error instanceof Failure && error.code === "unavailable"
const accounting = `/proc/self/task/${process.pid}/io`
const cannotCountWrites = !existsSync(accounting) && "this kernel does not count what a thread writes"
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Bytes. */
function writtenByEventLoop(): number {
  return Number(/wchar: (\d+)/.exec(readFileSync(accounting, "utf8"))?.[1])
}

test("while the disk writes a commit, requests read what was there before, and the commit is not acknowledged", async (t) => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const disk = Promise.withResolvers<void>()
  using _ = { [Symbol.dispose]: () => disk.resolve() }
  const { flush } = WriteAheadLog.prototype
  const flushes = t.mock.method(WriteAheadLog.prototype, "flush", async function (this: WriteAheadLog) {
    await disk.promise
    await flush.call(this)
  }).mock
  let isAcknowledged = false
  const adding = addUser(store, "bob").then((bob) => {
    isAcknowledged = true
    return bob
  })
  while (flushes.callCount() === 0) await nextTurn()
  for (let turn = 0; turn < 20; turn += 1) {
    assert.equal((await store.users.byName("ann"))?.id, ann.id)
    assert.equal(await store.users.byName("bob"), undefined)
    await nextTurn()
  }
  assert.equal(isAcknowledged, false)
  disk.resolve()
  const { id } = await adding
  assert.equal((await store.users.byName("bob"))?.id, id)
})

test("nothing is committed after a flush that failed, and requests read what was there before", async (t) => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const failure = new Failure("unavailable", "The disk does not write")
  t.mock.method(WriteAheadLog.prototype, "flush", () => Promise.reject(failure))
  await assert.rejects(Promise.all(["ann", "bob"].map((name) => addUser(store, name))), isUnavailable)
  t.mock.restoreAll()
  t.mock.method(WriteAheadLog.prototype, "assertSound", () => {
    throw failure
  })
  await assert.rejects(addUser(store, "cid"), isUnavailable)
  t.mock.restoreAll()
  for (const name of ["ann", "bob", "cid"]) assert.equal(await store.users.byName(name), undefined)
})

test("a log remembers that a flush failed", async () => {
  await using database = await sqliteDatabase()
  const writer = new DatabaseSync(fileOf(database))
  writer.exec("pragma journal_mode = wal; create table t (x)")
  let fails = true
  await using log = new WriteAheadLog(writer, fileOf(database), async () => {
    if (fails) throw new Error("EIO")
  })
  log.assertSound()
  await assert.rejects(log.flush(), isUnavailable)
  fails = false
  assert.throws(() => log.assertSound(), isUnavailable)
  writer.close()
})

test("a thread folds a long log into the database, while requests read", { skip: cannotCountWrites }, async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const doc = "x".repeat(250_000)
  let isOver = false
  const reading = (async () => {
    for (; !isOver; await nextTurn()) await store.users.byName("ann")
  })()
  const before = writtenByEventLoop()
  for (let n = 0; n < 60; n += 1) await Promise.all(Array.from({ length: 4 }, () => addImage(store, ann.id, { doc })))
  const written = writtenByEventLoop() - before
  isOver = true
  await reading
  const [log, folded] = await Promise.all(["-wal", ""].map(async (suffix) => (await stat(fileOf(database) + suffix)).size))
  assert.ok(Number(log) < 24 * 2 ** 20, `The log has ${log} bytes`)
  assert.ok(Number(folded) > 40 * 2 ** 20, `The database has ${folded} bytes`)
  // Each page is written to the log, and to the database.
  assert.ok(written < 1.5 * 240 * doc.length, `The event loop wrote ${written} bytes`)
})

test("a thread begins a folded log again, and flushes its head", async () => {
  await using database = await sqliteDatabase()
  const writer = new DatabaseSync(fileOf(database))
  writer.exec("pragma journal_mode = wal; create table t (x)")
  await using log = new WriteAheadLog(writer, fileOf(database))
  const pages = () => (writer.prepare("pragma wal_checkpoint(noop)").get() as { log: number }).log
  const write = (bytes: number) => writer.exec(`insert into t values (zeroblob(${bytes}))`)
  for (const mib of [20, 13]) {
    write(mib * 2 ** 20)
    assert.ok(pages() > 3_000)
    log.foldIfLong()
    await log.untilShort({ isDiskFull: true })
    assert.ok(pages() < 10, `After ${mib} MiB the log has ${pages()} pages`)
  }
  write(2 ** 20)
  log.foldIfLong()
  await log.untilShort({ isDiskFull: true })
  assert.ok(pages() > 200, "a short log is not folded")
  writer.close()
})
