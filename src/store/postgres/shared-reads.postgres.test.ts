import assert from "node:assert/strict"
import { after, test } from "node:test"
import { postgresServer } from "../testing/postgres.ts"
import { addImage, addUser } from "../testing/samples.ts"
import { readAsAddress, readAsPerson } from "./reading-person.ts"

const server = await postgresServer()
after(() => server[Symbol.asyncDispose]())

test("equal reads that wait for a connection share an answer, and later ones read again", async () => {
  await using database = await server.make()
  await using store = await database.open()
  const { id } = await addUser(store, "ann")
  const client = await server.connect(new URL(database.url).pathname.slice(1))
  await client.query("create sequence reads; alter table users rename to people")
  await client.query("create view users as select * from people where nextval('reads') > 0")
  const reads = async () => Number((await client.query("select last_value from reads")).rows[0].last_value)
  const rows = await Promise.all(Array.from({ length: 30 }, () => store.users.get(id)))
  assert.deepEqual([new Set(rows.map((row) => row?.userName)), await reads()], [new Set(["ann"]), 1])
  await store.users.get(id)
  assert.equal(await reads(), 2)
  await client.end()
})

test("readers that share an answer do not change each other's rows", async () => {
  await using database = await server.make()
  await using store = await database.open()
  for (const name of ["ann", "bob", "cat", "dan", "eve"]) await addUser(store, name)
  // A page near the end is read backwards.
  const list = () => store.users.list({ sort: { by: "name", descending: false } }, { page: 2, pageSize: 3 })
  const lists = await Promise.all([list(), list()])
  const names = lists.map(({ rows }) => rows.map(({ userName }) => userName))
  assert.deepEqual(names, Array(2).fill(["dan", "eve"]))
})

test("a person's requests that share a long answer go on a few in each turn of the event loop", async () => {
  await using database = await server.make()
  await using store = await database.open()
  const { id: userId } = await addUser(store, "ann")
  const { id } = await addImage(store, userId)
  await store.change((tx) => tx.images.update(id, { doc: "x".repeat(200_000) }))
  let ofTurn = 0
  let most = 0
  const counting = { ended: false }
  const countTurn = () => {
    ofTurn = 0
    if (!counting.ended) setImmediate(countTurn)
  }
  countTurn()
  const read = () => readAsPerson(userId, () => store.images.get(id)).then(() => (most = Math.max(most, ++ofTurn)))
  await Promise.all(Array.from({ length: 60 }, read))
  counting.ended = true
  assert.ok(most <= 10, `${most} went on in one turn`)
})

for (const [whose, read] of [
  ["one person", readAsPerson.bind(undefined, 1)],
  ["one address", readAsAddress.bind(undefined, "10.0.0.1")],
] as const) {
  test(`reads of ${whose} leave connections for those of others`, async () => {
    await using database = await server.make()
    await using store = await database.open()
    const ids = await Promise.all(Array.from({ length: 60 }, async (_, i) => (await addUser(store, `p${i}`)).id))
    const client = await server.connect(new URL(database.url).pathname.slice(1))
    await client.query("alter table users rename to people")
    await client.query("create view users as select people.* from people, pg_sleep(0.1)")
    await store.users.get(0)
    const ended: string[] = []
    const hostile = ids.map((id) => Promise.resolve(read(() => store.users.get(id))).then(() => ended.push("hostile")))
    await readAsPerson(2, () => store.users.get(ids[0] ?? 0)).then(() => ended.push("other"))
    assert.ok(ended.length < 10, `${ended.length} were answered before`)
    await Promise.all(hostile)
    await client.end()
  })
}
