import assert from "node:assert/strict"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, before, test } from "node:test"
import { bounds } from "#contract"
import { sendRequest } from "../api/http-client.ts"
import { eventually } from "../fixtures/eventually.ts"
import { type Person, startTestServer, type TestServer } from "../test-server.ts"

const { scans, waitingScans } = bounds.texts

/*
 * A person whose comments repeat one character, and who searches for long repetitions of it, which
 * occur almost everywhere in every row. U+2057 becomes four characters when folded.
 */

const count = 500
const character = "\u2057"
const q = Array.from({ length: 14 }, (_, i) => `${character.repeat(i + 1)}b`).join(" ")
const search = `/images?q=${encodeURIComponent(q)}`

let server: TestServer
let ann: Person
let bob: Person
before(async () => {
  server = await startTestServer()
  ;[ann, bob] = [await server.person("ann"), await server.person("bob")]
  const Comment = `${character.repeat(590)}b`
  for (let i = 0; i < count; i += 1) await ann.client.createImage({ body: { Name: `i${i}`, Image: "fake/ready", Comment } })
  using db = new DatabaseSync(join(server.dataDir, "quayside.db"), { readOnly: true })
  const pending = db.prepare("select count(*) as n from images where id > (select id from search_marks where kind = 'images')")
  await eventually("all texts are indexed", () => pending.get()?.n === 0, 30_000)
})
after(() => server[Symbol.asyncDispose]())

const get = (path: string, as: Person) => sendRequest(server.quayside.baseUrl, "GET", path, { as: as.authorization })

test("a search for many repetitions of one character blocks nobody and ends soon", { timeout: 60_000 }, async () => {
  const started = performance.now()
  let isOver = false
  const searching = get(search, ann).finally(() => {
    isOver = true
  })
  let longest = 0
  while (!isOver) {
    const startedAt = performance.now()
    assert.equal((await get("/projects", bob)).status, 200)
    longest = Math.max(longest, performance.now() - startedAt)
  }
  const { status, body } = await searching
  const durationMs = performance.now() - started
  assert.equal(status, 200)
  assert.equal((body.data as unknown as unknown[]).length, 20)
  assert.ok(longest < 300, `somebody else waited ${longest} ms`)
  assert.ok(durationMs < 1_500, `it took ${durationMs} ms`)
})

test("search words beyond the total length limit are refused", async () => {
  const { status, body } = await get(`/images?q=${encodeURIComponent(character.repeat(126))}`, ann)
  assert.deepEqual([status, body.code, body.field], [400, "invalid", "q"])
  assert.equal((await get(`/images?q=${encodeURIComponent(character.repeat(125))}`, ann)).status, 200)
})

/**
 * Makes so many copies of this project that a comparison of all takes several turns of the event
 * loop.
 */
function multiply(id: number): void {
  using db = new DatabaseSync(join(server.dataDir, "quayside.db"))
  const columns = db.prepare("select name from pragma_table_info('projects') where name <> 'id'").all()
  const names = columns.map(({ name }) => name).join(", ")
  const insert = db.prepare(`insert into projects (${names}) select ${names} from projects where id = ?`)
  db.exec("begin immediate")
  for (let i = 0; i < 1_000; i += 1) insert.run(id)
  db.exec("commit")
}

test("concurrent reads by computed fields are limited per person", async () => {
  const { ID: ImageID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/ready" } })
  const { ID } = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID } })
  multiply(ID)
  const maxRunning = scans.value + waitingScans.value
  const reads = await Promise.all(Array.from({ length: 2 * maxRunning }, () => get("/project?Running=true", ann)))
  const missing = reads.filter(({ status }) => status === 404).length
  const refused = reads.filter(({ status, headers }) => status === 429 && headers["retry-after"] === "1").length
  assert.ok(missing >= maxRunning && refused > 0 && missing + refused === reads.length, `${missing} answered, ${refused} refused`)
  assert.equal((await get(`/project?Running=false&ID=${ID}`, ann)).status, 200)
})
