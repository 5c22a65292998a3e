import assert from "node:assert/strict"
import { stat } from "node:fs/promises"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { Failure } from "#contract"
import { sqliteDatabase, type TestDatabase } from "../testing/databases.ts"
import { addImage, addUser } from "../testing/samples.ts"
import { WriteAheadLog } from "./write-ahead-log.ts"

const fileOf = (database: TestDatabase) => database.url.slice("sqlite:".length)
const isUnavailable = (error: unknown) => error instanceof Failure && error.code === "unavailable"
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

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

test("nothing is committed after a flush that failed", async (t) => {
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
  assert.equal(await store.users.byName("cid"), undefined)
})

test("a log remembers that a flush failed", async () => {
  await using database = await sqliteDatabase()
  const writer = new DatabaseSync(fileOf(database))
  writer.exec("pragma journal_mode = wal; create table t (x)")
  let fails = true
  using log = new WriteAheadLog(writer, fileOf(database), async () => {
    if (fails) throw new Error("EIO")
  })
  log.assertSound()
  await assert.rejects(log.flush(), isUnavailable)
  fails = false
  assert.throws(() => log.assertSound(), isUnavailable)
  writer.close()
})

test("the log is folded into the database when it is long, while requests read", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const doc = "x".repeat(250_000)
  let isOver = false
  const reading = (async () => {
    for (; !isOver; await nextTurn()) await store.users.byName("ann")
  })()
  for (let n = 0; n < 60; n += 1) await Promise.all(Array.from({ length: 4 }, () => addImage(store, ann.id, { doc })))
  isOver = true
  await reading
  const { size } = await stat(`${fileOf(database)}-wal`)
  assert.ok(size < 24 * 2 ** 20, `${size}`)
})
