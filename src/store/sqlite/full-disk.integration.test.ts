import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import type { Change, Store } from "../store.ts"
import { testDatabase } from "../testing/databases.ts"
import { assertOpenFails } from "../testing/open-errors.ts"
import { startProgram } from "../testing/process.ts"
import { addImage, addUser, imageRow } from "../testing/samples.ts"
import { fillDisk, isStorageFailure, smallDisk } from "../testing/small-disk.ts"
import { unrestrictedViewer } from "../viewer.ts"

const firstPage = { page: 1, pageSize: 1 }

test("`openStore` rejects a directory that is not writable", async () => {
  await using disk = await smallDisk(4096)
  const store = await disk.open()
  await store[Symbol.asyncDispose]()
  execFileSync("mount", ["-o", "remount,ro", disk.path])
  await assertOpenFails(disk, "not_writable", /must be writable, and are not/)
  const fresh = testDatabase(`sqlite:${join(disk.path, "new/quayside.db")}`, async () => {})
  await assertOpenFails(fresh, "not_writable", /must be writable, and are not/)
  const below = testDatabase(`sqlite:${join(disk.path, "data/quayside.db/x/y.db")}`, async () => {})
  await assertOpenFails(below, "not_writable", /must be writable, and are not/)
})

test("`openStore` fails to create a database on a full disk, and succeeds once there is room", async () => {
  await using disk = await smallDisk(2048)
  const reserve = await fillDisk(disk.path)
  await assertOpenFails(disk, "full", /disk that holds the database .* is full/)
  await rm(reserve)
  await using store = await disk.open()
  await addUser(store, "ann")
})

/** Adds images until the disk is full; returns the acknowledged IDs. */
async function addUntilFull(store: Store, userId: number): Promise<number[]> {
  const ids: number[] = []
  for (;;) {
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => addImage(store, userId, { doc: "x".repeat(4000) })))
    for (const result of results) {
      if (result.status === "fulfilled") ids.push(result.value.id)
      else assert.ok(isStorageFailure(result.reason), String(result.reason))
    }
    if (results.every((result) => result.status === "rejected")) return ids
  }
}

test("a full disk rejects changes, serves reads and loses nothing acknowledged; changes succeed once there is room", async () => {
  await using disk = await smallDisk(6144)
  const store = await disk.open()
  const ann = await addUser(store, "ann")
  await writeFile(join(disk.path, "ballast"), Buffer.alloc(1 << 20))
  const ids = await addUntilFull(store, ann.id)
  assert.ok(ids.length > 20)
  assert.equal((await store.images.list({}, unrestrictedViewer, firstPage)).total, ids.length)
  await rm(join(disk.path, "ballast"))
  await store.check()
  ids.push((await addImage(store, ann.id)).id)
  await store[Symbol.asyncDispose]()
  await using repeated = await disk.open()
  assert.deepEqual(
    (await repeated.images.getMany(ids)).map((row) => row.id),
    ids,
  )
  assert.equal((await repeated.images.list({}, unrestrictedViewer, firstPage)).total, ids.length)
})

test("`check` fails while the disk is full, and succeeds afterwards", async () => {
  await using disk = await smallDisk(4096)
  await using store = await disk.open()
  const reserve = await fillDisk(disk.path)
  await assert.rejects(store.check(), isStorageFailure)
  await rm(reserve)
  await store.check()
})

/** The path of the reserve on a disk of so many KiB, once it has its size: a sixteenth. */
async function reserveFile(disk: { path: string }, kib: number): Promise<string> {
  const path = join(disk.path, "data/quayside.db.ballast")
  await eventually("the reserve is complete", async () => (await stat(path)).size === (kib * 1024) / 16)
  return path
}

test("on a full disk only urgent changes use the reserve, which is restored once there is room", async () => {
  await using disk = await smallDisk(32 * 1024)
  const open = () => disk.open()
  const store = await open()
  const ann = await addUser(store, "ann")
  const reserve = await reserveFile(disk, 32 * 1024)
  const whole = (await stat(reserve)).size
  const filling = await fillDisk(disk.path)
  const ids = await addUntilFull(store, ann.id)
  const urgent = () => store.change((tx) => tx.images.insert(imageRow(ann.id, { doc: "x".repeat(10_000) })), { urgent: true })
  for (let i = 0; i < 10; i += 1) {
    const [first, ordinary, second] = await Promise.allSettled([urgent(), addImage(store, ann.id), urgent()])
    assert.ok(ordinary.status === "rejected" && isStorageFailure(ordinary.reason), "what is not urgent gets nothing of it")
    for (const each of [first, second]) ids.push(each.status === "fulfilled" ? each.value.id : assert.fail(String(each.reason)))
  }
  assert.ok((await stat(reserve)).size < whole)
  await assert.rejects(store.check(), isStorageFailure)
  await rm(filling)
  const added = () =>
    addImage(store, ann.id).then(
      ({ id }) => ids.push(id) > 0,
      () => false,
    )
  await eventually("others may write", added)
  assert.equal((await stat(reserve)).size, whole, "before anybody else gets the room")
  await fillDisk(disk.path)
  ids.push((await urgent()).id)
  await store[Symbol.asyncDispose]()

  const repeated = await open()
  assert.equal((await repeated.images.getMany(ids)).length, ids.length)
  await rm(filling)
  await addImage(repeated, ann.id)
  await repeated[Symbol.asyncDispose]()
  await using last = await open()
  assert.equal((await last.images.getMany(ids)).length, ids.length)
  await reserveFile(disk, 32 * 1024)
})

test("urgent changes are rejected when the reserve is used up, and nothing acknowledged is lost", async () => {
  await using disk = await smallDisk(16 * 1024)
  await using store = await disk.open()
  const ann = await addUser(store, "ann")
  const reserve = await reserveFile(disk, 16 * 1024)
  await fillDisk(disk.path)
  const ids = await addUntilFull(store, ann.id)
  for (;;) {
    const result = await store
      .change((tx) => tx.images.insert(imageRow(ann.id, { doc: "x".repeat(60_000) })), { urgent: true })
      .catch((err) => err)
    if (result instanceof Error) {
      assert.ok(isStorageFailure(result), String(result))
      break
    }
    ids.push(result.id)
  }
  assert.equal((await stat(reserve)).size, 0)
  assert.equal((await store.images.getMany(ids)).length, ids.length)
})

test("a database opens on a full disk after its server was closed or killed", async () => {
  await using disk = await smallDisk(32 * 1024)
  const opened = await disk.open()
  const ann = await addUser(opened, "ann")
  await reserveFile(disk, 32 * 1024)
  await opened[Symbol.asyncDispose]()
  const filling = await fillDisk(disk.path)
  const closed = await disk.open()
  assert.equal((await closed.users.get(ann.id))?.userName, "ann")
  await closed[Symbol.asyncDispose]()
  await rm(filling)
  await using writer = startProgram("write", disk.url, String(ann.id))
  const acknowledged = [Number(await writer.line())]
  await fillDisk(disk.path)
  acknowledged.push(...(await writer.kill()).map(Number))
  await fillDisk(disk.path)
  await using store = await disk.open()
  assert.equal((await store.images.getMany(acknowledged)).length, acknowledged.length)
  await store.change((tx) => tx.users.setDeleted(ann.id, true), { urgent: true })
})

test("a change too large for the disk is rejected alone, and the others of its group are stored", async () => {
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
  for (const result of results) if (result.status === "rejected") assert.ok(isStorageFailure(result.reason), String(result.reason))
  const { rows } = await store.images.list({ sort: { by: "id", descending: false } }, unrestrictedViewer, { page: 1, pageSize: 200 })
  assert.deepEqual(
    rows.map((row) => row.name),
    ["a", "b", "large", "large", "c"],
  )
})
