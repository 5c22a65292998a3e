import assert from "node:assert/strict"
import { test } from "node:test"
import { Failure } from "#contract"
import { query } from "../sql/catalog.ts"
import { loadCatalog } from "../sql/compiled.ts"
import type { Store } from "../store.ts"
import { sqliteDatabase } from "../testing/databases.ts"
import { addImage, addUser } from "../testing/samples.ts"
import { ScanSession } from "./scanner.ts"

const everything = { userId: 0, groupIds: [], everything: true }

/** Whether the event loop turned before the work was done. */
async function turns(work: () => Promise<unknown>): Promise<boolean> {
  let turned = false
  setImmediate(() => {
    turned = true
  })
  await work()
  return turned
}

/** The same for the first of ten tries in which it does: an answer of another thread may be there before the loop turns. */
async function turnsOnce(work: () => Promise<unknown>): Promise<boolean> {
  for (let i = 0; i < 10; i += 1) if (await turns(work)) return true
  return false
}

test("A search in a large table holds nobody up, and finds what it should", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const add = (store: Store, count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => addImage(store, ann.id, { name: i % 1000 === 7 ? "needle" : "hay" })))
  const search = () => store.images.list({ words: ["needle"] }, everything, { page: 1, pageSize: 200 })
  await add(store, 2_000)
  await search()
  assert.equal(await turns(search), false)
  await add(store, 19_000)
  await search()
  assert.equal(await turnsOnce(search), true)
  const { rows, total } = await search()
  assert.deepEqual([total, new Set(rows.map((row) => row.name))], [21, new Set(["needle"])])
  const first = await addImage(store, ann.id, { name: "needle" })
  assert.equal((await search()).rows[0]?.id, first.id)
  assert.equal(await turns(() => store.images.list({}, everything, { page: 500, pageSize: 20 })), false)
  const many = await Promise.allSettled(Array.from({ length: 150 }, search))
  const refused = many.filter((result) => result.status === "rejected")
  assert.ok(refused.length < 150)
  for (const { reason } of refused) assert.ok(reason instanceof Failure && reason.code === "too_many_requests")
  const others = { userId: 99, groupIds: [], everything: true }
  const flood = Promise.allSettled(Array.from({ length: 150 }, search))
  assert.equal((await store.images.list({ words: ["needle"] }, others, { page: 1, pageSize: 20 })).total, 22)
  assert.ok((await flood).some(({ status }) => status === "rejected"))
})

test("A comparison with a long text reads all of them elsewhere, however small the table is", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const image = await addImage(store, ann.id, { doc: "a long text" })
  const search = () => store.images.list({ where: { doc: "a long text" } }, everything, { page: 1, pageSize: 2 })
  await search()
  assert.equal(await turnsOnce(search), true)
  assert.deepEqual((await search()).rows, [image])
})

test("A scanner gives the rows and the errors that the database gives, and starts again after its end", async () => {
  await using database = await sqliteDatabase()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const catalog = await loadCatalog("sqlite")
  await using scanner = new ScanSession(database.url.slice("sqlite:".length), catalog)
  const byName = query("userByName")
  assert.equal((await scanner.first(byName, { name: "ann" }))?.[0], ann.id)
  assert.equal(await scanner.first(byName, { name: "bob" }), undefined)
  await assert.rejects(
    scanner.all(query("clearMembers"), { group_id: 1 }),
    (error) => error instanceof Failure && error.code === "unavailable",
  )
  await scanner[Symbol.asyncDispose]()
  assert.equal((await scanner.all(byName, { name: "ann" })).length, 1)
  const cut = scanner.all(byName, { name: "ann" })
  const refused = assert.rejects(cut, (error) => error instanceof Failure && error.code === "unavailable")
  await scanner[Symbol.asyncDispose]()
  await refused
})
