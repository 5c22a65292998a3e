import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { Failure } from "#contract"
import { query } from "../queries/query.ts"
import { QueryCompiler } from "../queries/query-compiler.ts"
import type { Store } from "../store.ts"
import { sqliteDatabase } from "../testing/databases.ts"
import { addImage, addUser } from "../testing/samples.ts"
import { unrestrictedViewer } from "../viewer.ts"
import { ScanWorker } from "./scan-worker.ts"

/**
 * Whether the event loop turned before the work was done. A thread may answer within the same turn,
 * but not each time.
 */
async function turns(work: () => Promise<unknown>): Promise<boolean> {
  let turned = false
  for (let i = 0; i < 30; i += 1) {
    setImmediate(() => {
      turned = true
    })
    await work()
    if (turned) return true
    await turn()
    turned = false
  }
  return false
}

test("a search in a large table does not block the event loop", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const add = (store: Store, count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => addImage(store, ann.id, { name: i % 1000 === 7 ? "needle" : "hay" })))
  const search = () => store.images.list({ words: ["needle"] }, unrestrictedViewer, { page: 1, pageSize: 200 })
  await add(store, 400)
  await search()
  assert.equal(await turns(search), false)
  await add(store, 1_000)
  await search()
  assert.equal(await turns(search), true)
  const page = { page: 1, pageSize: 20 }
  // Several, since a thread may answer one within the same turn.
  const compare = () =>
    Promise.all(["a", "b", "c", "d"].map((comment) => store.images.list({ where: { comment } }, unrestrictedViewer, page)))
  await compare()
  assert.equal(await turns(compare), false)
  await add(store, 1_000)
  await compare()
  assert.equal(await turns(compare), true)
  await add(store, 18_000)
  await search()
  assert.equal(await turns(search), true)
  const { rows, total } = await search()
  assert.deepEqual([total, new Set(rows.map((row) => row.name))], [21, new Set(["needle"])])
  const first = await addImage(store, ann.id, { name: "needle" })
  assert.equal((await search()).rows[0]?.id, first.id)
  assert.equal(await turns(() => store.images.list({}, unrestrictedViewer, { page: 500, pageSize: 20 })), false)
  const many = await Promise.allSettled(Array.from({ length: 150 }, search))
  const refused = many.filter((result) => result.status === "rejected")
  assert.ok(refused.length < 150)
  for (const { reason } of refused) assert.ok(reason instanceof Failure && reason.code === "too_many_requests")
  const others = { userId: 99, groupIds: [], seesAll: true }
  const flood = Promise.allSettled(Array.from({ length: 150 }, search))
  assert.equal((await store.images.list({ words: ["needle"] }, others, { page: 1, pageSize: 20 })).total, 22)
  assert.ok((await flood).some(({ status }) => status === "rejected"))
})

test("a comparison with a long text runs in another thread, also in a small table", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const doc = "a long text".repeat(20_000)
  const image = await addImage(store, ann.id, { doc })
  // So many that the other thread cannot answer within the same turn.
  for (let i = 0; i < 20; i += 1) await addImage(store, ann.id, { doc: doc.replace(/t$/, String(i)) })
  const search = () => store.images.list({ where: { doc } }, unrestrictedViewer, { page: 1, pageSize: 2 })
  await search()
  assert.equal(await turns(search), true)
  assert.deepEqual(
    (await search()).rows.map(({ id }) => id),
    [image.id],
  )
})

test("lists of the audit and of deleted rows run in another thread", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const entry = { actor: "ann", action: "image.update", outcome: "done", address: "::1", requestId: "r1" } as const
  for (let i = 0; i < 50; i += 1) {
    const { id } = await addImage(store, ann.id, { name: `image ${i}` })
    await store.change(async (tx) => {
      await tx.audit({ ...entry, resource: { type: "image", id } })
      await tx.images.setDeleted(id, true)
    })
  }
  const viewer = { userId: ann.id, groupIds: [], seesAll: false }
  const page = { page: 1, pageSize: 50 }
  const audit = () => store.audits.list({ actor: "ann", action: "image.update" }, viewer, page)
  const deleted = () => store.images.list({ deleted: true, sort: { by: "name", descending: false } }, viewer, page)
  assert.equal((await audit()).total, 50)
  assert.equal(await turns(audit), true)
  assert.equal((await deleted()).total, 50)
  assert.equal(await turns(deleted), true)
})

test("a scan returns the rows and errors of the database, and restarts an ended thread", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  await using scanner = new ScanWorker(database.url.slice("sqlite:".length), new QueryCompiler("sqlite"))
  const byName = query("userByName")
  assert.equal((await scanner.first(byName, { name: "ann" }))?.[0], ann.id)
  assert.equal(await scanner.first(byName, { name: "bob" }), undefined)
  await assert.rejects(
    scanner.all(query("clearMembers"), { group_id: 1 }),
    (error) => error instanceof Failure && error.code === "unavailable",
  )
  await scanner[Symbol.asyncDispose]()
  assert.equal((await scanner.all(byName, { name: "ann" })).length, 1)
  await scanner[Symbol.asyncDispose]()
  // A thread that still starts cannot answer before it is ended.
  const cut = scanner.all(byName, { name: "ann" })
  const refused = assert.rejects(cut, (error) => error instanceof Failure && error.code === "unavailable")
  await scanner[Symbol.asyncDispose]()
  await refused
})

test("a scan that arrives while an idle thread is ending is answered by another thread", async (t) => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  t.mock.timers.enable({ apis: ["setTimeout"] })
  await using scanner = new ScanWorker(database.url.slice("sqlite:".length), new QueryCompiler("sqlite"))
  const find = () => scanner.first(query("userByName"), { name: "ann" })
  assert.equal((await find())?.[0], ann.id)
  t.mock.timers.tick(30_000)
  assert.equal((await find())?.[0], ann.id)
})
