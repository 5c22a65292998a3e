import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { Failure } from "#contract"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { StoreError, type StoreErrorKind } from "../errors.ts"
import { type TestDatabase, testDatabase } from "../testing/databases.ts"
import { postgresServer } from "../testing/postgres.ts"
import { startProgram } from "../testing/process.ts"
import { addImage, addUser, imageRow } from "../testing/samples.ts"
import { unrestrictedViewer } from "../viewer.ts"
import { writeLock } from "./connection.ts"

const server = await postgresServer()
after(() => server[Symbol.asyncDispose]())

const firstPage = { page: 1, pageSize: 1 }
const nameOf = (database: TestDatabase) => new URL(database.url).pathname.slice(1)

function refuses(url: string, kind: StoreErrorKind, message: RegExp): Promise<void> {
  return assert.rejects(testDatabase(url, async () => {}).open(), (error) => {
    assert.ok(error instanceof StoreError, String(error))
    assert.equal(error.kind, kind)
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /secret/)
    return true
  })
}

async function administer(database: string, ...statements: string[]): Promise<void> {
  const client = await server.connect(database)
  for (const statement of statements) await client.query(statement)
  await client.end()
}

const isUnavailable = (error: unknown) => error instanceof Failure && error.code === "unavailable"

test("several processes can open an empty database at the same time", async () => {
  await using database = await server.make()
  const stores = await Promise.all(Array.from({ length: 5 }, () => database.open()))
  assert.equal(new Set(stores.map((store) => store.instance)).size, 1)
  await Promise.all(stores.map((store, i) => addUser(store, `user${i}`)))
  assert.equal(await stores[0]?.users.count(), 5)
  await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()))
})

test("`openStore` rejects an unreachable database in one sentence without the password", async () => {
  await using database = await server.make()
  const url = new URL(database.url)
  url.username = "nobody-known"
  url.password = "secret"
  await refuses(url.href, "unreachable", /refused the user name or password/)
  url.username = "postgres"
  url.pathname = "/missing"
  await refuses(url.href, "unreachable", /has no database missing/)
  await refuses("postgres://ann:secret@127.0.0.1:1/quayside", "unreachable", /quayside at 127.0.0.1:1 cannot be reached \(.*ECONNREFUSED/)
  await refuses("postgres://ann:secret@nowhere.invalid/quayside", "unreachable", /cannot be reached/)
})

test("`openStore` rejects a database of a newer version, another program or another encoding", async () => {
  await using database = await server.make()
  const store = await database.open()
  await store[Symbol.asyncDispose]()
  await administer(nameOf(database), "insert into migrations values (99, 'later', 0)")
  await refuses(database.url, "newer", /version 99, made by a newer Quayside/)
  await administer(nameOf(database), "drop table migrations cascade")
  await refuses(database.url, "foreign", /holds tables that are not Quayside's/)
  await administer(nameOf(database), "create table migrations (id int)")
  await refuses(database.url, "foreign", /holds tables that are not Quayside's/)
  await administer("postgres", "create database ascii template template0 encoding 'SQL_ASCII' locale 'C'")
  await refuses(server.urlOf("ascii"), "foreign", /stores text as SQL_ASCII; it must be UTF8/)
  await administer("postgres", "drop database ascii")
})

test("`openStore` rejects a database without the right to create tables, or that is read-only", async () => {
  await using database = await server.make()
  await administer("postgres", "drop role if exists quayside_guest", "create role quayside_guest login")
  const url = new URL(database.url)
  url.username = "quayside_guest"
  await refuses(url.href, "not_writable", /must be allowed to create tables/)
  await administer("postgres", `alter database ${nameOf(database)} set default_transaction_read_only = on`)
  await refuses(database.url, "not_writable", /is read-only/)
})

test("a change waits while another process writes, and fails after the timeout", async () => {
  await using database = await server.make()
  await using impatient = await database.open({ changeTimeoutMs: 300 })
  await using store = await database.open()
  const other = await server.connect(nameOf(database))
  await other.query(`begin; ${writeLock}`)
  await assert.rejects(addUser(impatient, "ann"), isUnavailable)
  assert.equal(await store.users.count(), 0)
  const waiting = addUser(store, "bob")
  await other.query("rollback")
  await other.end()
  assert.equal((await waiting).userName, "bob")
})

test("a process that hangs in a change blocks other processes for a limited time", async () => {
  await using database = await server.make()
  await using store = await database.open({ changeTimeoutMs: 5_000 })
  await addUser(store, "ann")
  const other = await server.connect(nameOf(database))
  await other.query("set idle_in_transaction_session_timeout = 200")
  await other.query(`begin; ${writeLock}`)
  assert.equal((await addUser(store, "bob")).userName, "bob")
  await other.end().catch(() => {})
})

test("connections that the server closes are replaced, and their changes are rolled back", async () => {
  await using database = await server.make()
  await using store = await database.open()
  const ann = await addUser(store, "ann")
  const end = () =>
    administer(
      "postgres",
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${nameOf(database)}' and application_name = 'quayside'`,
    )
  await end()
  assert.equal((await store.users.get(ann.id))?.userName, "ann")
  await addUser(store, "bob")
  const cut = store.change(async (tx) => {
    await tx.users.update(ann.id, { comment: "half" })
    await end()
    await tx.images.insert(imageRow(ann.id))
  })
  await assert.rejects(cut, isUnavailable)
  assert.equal((await store.users.get(ann.id))?.comment, "")
  const results = await Promise.allSettled([
    addImage(store, ann.id, { name: "first" }),
    store.change(async (tx) => {
      await tx.images.insert(imageRow(ann.id, { name: "second" }))
      await end()
      await tx.journal({ event: "image.created", data: {}, resource: { type: "image", id: 1 } })
    }),
    addImage(store, ann.id, { name: "third" }),
  ])
  assert.deepEqual(
    results.map((result) => result.status),
    ["fulfilled", "rejected", "fulfilled"],
  )
  const { rows } = await store.images.list({ sort: { by: "id", descending: false } }, unrestrictedViewer, { page: 1, pageSize: 9 })
  assert.deepEqual(
    rows.map((row) => row.name),
    ["first", "third"],
  )
})

test("a statement that exceeds the server's timeout fails as unavailable", async () => {
  await using database = await server.make()
  await using patient = await database.open()
  await addUser(patient, "ann")
  await using store = await database.open({ changeTimeoutMs: 300 })
  const other = await server.connect(nameOf(database))
  await other.query("begin; lock table users in access exclusive mode")
  await assert.rejects(store.users.byName("ann"), isUnavailable)
  await assert.rejects(addUser(store, "bob"), isUnavailable)
  await other.query("rollback")
  await other.end()
  const goesOn = (work: Promise<unknown>) =>
    work.then(
      () => true,
      () => false,
    )
  await eventually("it reads again", () => goesOn(store.users.byName("ann")))
  let tried = 0
  await eventually("it writes again", () => goesOn(addUser(store, `bob${++tried}`)))
})

test("acknowledged changes survive a crash of the server and of the writer", { skip: !server.crash }, async () => {
  await using database = await server.make()
  await using store = await database.open({ changeTimeoutMs: 2_000 })
  const ann = await addUser(store, "ann")
  await using writer = startProgram("write", database.url, String(ann.id))
  const acknowledged: number[] = []
  while (acknowledged.length < 200) acknowledged.push(Number(await writer.line()))
  await server.crash?.()
  acknowledged.push(...(await writer.kill()).map(Number))
  await assert.rejects(store.users.get(ann.id), isUnavailable)
  await assert.rejects(addUser(store, "bob"), isUnavailable)
  await assert.rejects(store.check(), isUnavailable)
  await server.start?.()
  assert.equal((await store.images.getMany(acknowledged)).length, acknowledged.length)
  const { total } = await store.images.list({}, unrestrictedViewer, firstPage)
  assert.equal((await store.audits.list({}, unrestrictedViewer, firstPage)).total, total)
  await addUser(store, "bob")
  await store.check()
})

test("a full disk rejects changes and serves reads; changes succeed once there is room", { skip: !server.crash }, async () => {
  const path = await mkdtemp(join(tmpdir(), "quayside-disk-"))
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", path])
  await chown(path, 65534, 65534)
  await administer("postgres", `create tablespace small location '${path}'`)
  await administer("postgres", "create database small template template0 encoding 'UTF8' tablespace small")
  try {
    const store = await testDatabase(server.urlOf("small"), async () => {}).open()
    const ann = await addUser(store, "ann")
    await writeFile(join(path, "ballast"), Buffer.alloc(4 << 20))
    const isFull = (error: unknown) => error instanceof Failure && error.code === "storage_full"
    let written = 0
    const fill = async () => {
      for (;;) {
        await addImage(store, ann.id, { doc: Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("base64") })
        written += 1
      }
    }
    await assert.rejects(fill(), isFull)
    assert.ok(written > 10)
    assert.equal((await store.images.list({}, unrestrictedViewer, firstPage)).total, written)
    await rm(join(path, "ballast"))
    await addImage(store, ann.id, { doc: "x".repeat(10_000) })
    assert.equal((await store.images.list({}, unrestrictedViewer, firstPage)).total, written + 1)
    await store[Symbol.asyncDispose]()
  } finally {
    await administer("postgres", "drop database small with (force)", "drop tablespace small")
    execFileSync("umount", ["-l", path])
    await rm(path, { recursive: true })
  }
})
