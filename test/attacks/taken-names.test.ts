import assert from "node:assert/strict"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { bounds } from "#contract"
import { FileTree } from "#files"
import { sendRequest } from "../api/http-client.ts"
import { eventually } from "../fixtures/eventually.ts"
import { recordQueries } from "../fixtures/recorded-queries.ts"
import { startTestServer } from "../test-server.ts"

/*
 * A person has very many directories and datasets: with the names that new ones would get, or one
 * in the other. Main process and file server work for everybody.
 */

test("a new dataset gets a free name after few attempts, however many names are taken", async () => {
  await using server = await startTestServer()
  const ann = await server.person("ann")
  const create = async () => (await ann.client.createData({ body: { Name: "x" } })).AccessInfo
  assert.deepEqual([await create(), await create()], ["/users/ann/datasets/x", "/users/ann/datasets/x-2"])
  for (let n = 3; n <= 200; n += 1) mkdirSync(join(server.dataDir, `files/users/ann/datasets/x-${n}`))
  const paths = new Set([await create(), await create()])
  assert.equal(paths.size, 2)
  for (const path of paths) assert.match(path, /^\/users\/ann\/datasets\/x-[0-9a-f]{16}$/)
})

test("datasets in one directory, one in the other, are limited, since each question about a path reads them", async () => {
  await using server = await startTestServer()
  const ann = await server.person("ann")
  const max = bounds.texts.overlappingDatasets.value
  const create = (AccessInfo: string) =>
    sendRequest(server.quayside.baseUrl, "POST", "/data", { as: ann.authorization, body: { Name: "x", AccessInfo } })
  for (let i = 0; i < max / 2; i += 1) assert.equal((await create("/users/ann/d")).status, 200)
  for (let i = 1; i < max / 2; i += 1) assert.equal((await create(`/users/ann/d${"/e".repeat(i)}`)).status, 200)
  const inner = `/users/ann/d${"/e".repeat(max / 2)}`
  assert.equal((await create(inner)).status, 200)
  for (const path of ["/users/ann/d", "/users/ann/d/e", `${inner}/f`]) {
    const { status, body } = await create(path)
    assert.deepEqual([status, body.code, body.field], [409, "conflict", "AccessInfo"], path)
  }
  assert.equal((await create("/users/ann/d/other")).status, 200)
})

test("a change that moves no dataset, and changes no rights, reads none of the datasets around it", async () => {
  await using server = await startTestServer()
  const ann = await server.person("ann")
  const { ID, AccessInfo } = await ann.client.createData({ body: { Name: "x" } })
  await ann.client.createData({ body: { Name: "y", AccessInfo: `${AccessInfo}/in` } })
  const searches = async (body: { Comment: string } | { IsPublished: boolean }) => {
    const queries = await recordQueries(() => ann.client.updateData({ body: { ID, ...body } }).catch(() => {}))
    return queries.filter((sql) => sql.includes('from "datasets"') && sql.includes("access_key")).length
  }
  assert.ok((await searches({ IsPublished: true })) > 0)
  assert.equal(await searches({ Comment: "c" }), 0)
})

test("while the directories of one person's datasets are made, one after another, others change what is theirs", async (t) => {
  await using server = await startTestServer()
  const [ann, bob] = [await server.person("ann"), await server.person("bob")]
  const data = await ann.client.createData({ body: { Name: "x" } })
  const image = await bob.client.createImage({ body: { Name: "i", Image: "fake/ready" } })
  const gate = Promise.withResolvers<void>()
  const making: string[] = []
  t.mock.method(FileTree.prototype, "ensureDirectory", (path: string) => {
    making.push(path)
    return gate.promise
  })
  const send = (method: string, body: object) => sendRequest(server.quayside.baseUrl, method, "/data", { as: ann.authorization, body })
  const first = send("PUT", { ID: data.ID, AccessInfo: "/users/ann/a" })
  await eventually("the directory of the change is made", () => making.length === 1)
  const max = bounds.files.waitingDatasetDirectories.value
  const waiting = Array.from({ length: max + 1 }, () => send("POST", { Name: "y", AccessInfo: "/users/ann/b" }))
  assert.equal((await Promise.race(waiting)).status, 429)
  assert.equal((await bob.client.updateImage({ body: { ID: image.ID, Name: "j" } })).Name, "j")
  assert.deepEqual(making, ["/users/ann/a"])
  gate.resolve()
  const answers = await Promise.all([first, ...waiting])
  assert.equal(answers.filter(({ status }) => status === 429).length, 1)
  assert.deepEqual(new Set(making.slice(1)), new Set(["/users/ann/b"]))
})

test("a dataset whose change is refused makes no directory", async (t) => {
  await using server = await startTestServer()
  const [ann, bob] = [await server.person("ann"), await server.person("bob")]
  const data = await ann.client.createData({ body: { Name: "x", IsPublished: true } })
  const made = t.mock.method(FileTree.prototype, "ensureDirectory", async () => {})
  const send = (method: string, who: typeof ann, body: object) =>
    sendRequest(server.quayside.baseUrl, method, "/data", { as: who.authorization, body })
  const inner = `${data.AccessInfo}/inner`
  assert.equal((await send("POST", ann, { Name: "y", AccessInfo: inner })).status, 409)
  assert.equal((await send("PUT", bob, { ID: data.ID, AccessInfo: "/users/bob/b" })).status, 403)
  assert.equal((await send("PUT", ann, { ID: data.ID, AccessInfo: "/users/bob/b" })).status, 400)
  assert.equal(made.mock.callCount(), 0)
})

test("long texts of thousands of datasets in a home are not read for each file in it", async () => {
  await using server = await startTestServer()
  const ann = await server.person("ann")
  const made = await ann.client.createData({ body: { Name: "x", Doc: "d".repeat(250_000) } })
  {
    using db = new DatabaseSync(join(server.dataDir, "quayside.db"))
    const names = db
      .prepare("select name from pragma_table_info('datasets')")
      .all()
      .map(({ name }) => String(name))
    const own = names.map((name) => (name.startsWith("access_") ? "?" : name)).slice(1)
    const insert = db.prepare(`insert into datasets (${names.slice(1).join(", ")}) select ${own.join(", ")} from datasets where id = ?`)
    db.exec("begin immediate")
    for (let i = 0; i < 200; i += 1) insert.run(`/users/ann/datasets/${i}`, `/users/ann/datasets/${i}`, made.ID)
    db.exec("commit")
  }
  const { filesUrl } = server.quayside
  const cpuOf = async (path: string) => {
    const before = process.cpuUsage()
    const response = await fetch(new URL(path, filesUrl), { method: "PROPFIND", headers: { authorization: ann.authorization, depth: "0" } })
    await response.text()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
  await cpuOf("/users")
  // Each name is new, so that the file server asks about it.
  const all = await Array.fromAsync({ length: 10 }, (_, i) => cpuOf(`/users/ann/datasets/new${i}/f`))
  assert.ok(Math.min(...all) < 100, `${all.map(Math.round)} ms`)
})
