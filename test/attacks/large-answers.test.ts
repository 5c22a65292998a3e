import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { type ClientRequest, type IncomingMessage, request } from "node:http"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, before, test } from "node:test"
import { bounds } from "#contract"
import { sharedScheduler } from "#kit"
import { ids, sendRequest } from "../api/http-client.ts"
import { eventually } from "../fixtures/eventually.ts"
import { type Person, startTestServer, type TestServer } from "../test-server.ts"

/*
 * A person whose lists have the maximum size: 200 objects with 256 KiB of text each, requested by
 * many clients that do not read.
 */

const { largeAnswers, waitingLargeAnswers, docBytes } = bounds.texts
const count = 200
const list = `/projects?pageSize=${count}`

let server: TestServer
let ann: Person
let bob: Person
let projects: number[]
before(async () => {
  server = await startTestServer()
  ;[ann, bob] = [await server.person("ann"), await server.person("bob")]
  const { ID: ImageID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/ready", Env: `A=${"x".repeat(60_000)}` } })
  const { ID } = await ann.client.createData({ body: { Name: "d", Comment: "c".repeat(2_000) } })
  const body = {
    ProjectName: "p",
    Type: "http" as const,
    ImageID,
    TrainData: [{ ID }],
    Doc: `${'"'.repeat(1_000)}${"x".repeat(docBytes.value - 1_000)}`,
  }
  projects = [(await ann.client.createProject({ body })).ID]
  multiply(projects[0] as number)
})
after(() => server[Symbol.asyncDispose]())

/** Copies this project in the database, without a request for each. */
function multiply(id: number): void {
  using db = new DatabaseSync(join(server.dataDir, "quayside.db"))
  const columns = db.prepare("select name from pragma_table_info('projects') where name <> 'id'").all()
  const names = columns.map(({ name }) => name).join(", ")
  db.exec("begin immediate")
  for (let i = 1; i < count; i += 1) {
    const createdCount = Number(
      db.prepare(`insert into projects (${names}) select ${names} from projects where id = ?`).run(id).lastInsertRowid,
    )
    db.prepare("insert into project_datasets select ?, position, data_id, mount_path from project_datasets where project_id = ?").run(
      createdCount,
      id,
    )
    projects.push(createdCount)
  }
  db.exec("commit")
}

/** Sends a request without reading the response. */
async function begin(path: string, as: Person): Promise<{ outgoing: ClientRequest; incoming: Promise<IncomingMessage> }> {
  const { port } = new URL(server.quayside.baseUrl)
  const outgoing = request({ host: "127.0.0.1", port, path, headers: { authorization: as.authorization }, agent: false })
  outgoing.on("error", () => {})
  const incoming = once(outgoing, "response").then(([response]) => response as IncomingMessage)
  incoming.catch(() => {})
  outgoing.end()
  await once(outgoing, "finish")
  return { outgoing, incoming }
}

const get = (path: string, as: Person) => sendRequest(server.quayside.baseUrl, "GET", path, { as: as.authorization })

test("a large list is complete, ordered and chunked, and its HEAD has no body", async () => {
  const answer = await get(list, ann)
  assert.equal(answer.headers["content-length"], undefined)
  const { data, ...rest } = answer.body as unknown as { data: { ID: number; Doc: string }[] }
  assert.deepEqual(rest, { page: 1, pageCount: 1, pageSize: count })
  assert.deepEqual(ids(answer), projects.toReversed())
  const one = (await get(`/project?ID=${projects[0]}`, ann)).body
  assert.deepEqual(data.at(-1), one)
  const head = await sendRequest(server.quayside.baseUrl, "HEAD", list, { as: ann.authorization })
  assert.deepEqual([head.status, head.text], [200, ""])
})

test("the objects of large lists are read and written in turns, which people share fairly", async (t) => {
  const waits = t.mock.method(sharedScheduler, "waitForNextSlot").mock
  await get("/projects?pageSize=5", ann)
  assert.ok(waits.callCount() > 5, `${waits.callCount()} turns for five objects of 250 KiB`)
})

test("a short list has a Content-Length", async () => {
  const answer = await get("/datas", ann)
  assert.equal(Number(answer.headers["content-length"]), Buffer.byteLength(answer.text))
})

test("stalled readers of large lists cost little memory and do not delay others", async () => {
  const rss = process.memoryUsage().rss
  const readers = await Promise.all(Array.from({ length: 16 }, () => begin(list, ann)))
  await Promise.all(readers.slice(0, largeAnswers.value).map(({ incoming }) => incoming))
  for (let i = 0; i < 20; i += 1) assert.equal((await get("/projects", bob)).status, 200)
  const grown = (process.memoryUsage().rss - rss) / 2 ** 20
  for (const { outgoing } of readers) outgoing.destroy()
  assert.ok(grown < 250, `16 readers of a list of ${count} large projects took ${grown} MiB`)
})

test("large answers beyond one person's queue limit are refused until readers end", async () => {
  const all = largeAnswers.value + waitingLargeAnswers.value
  const readers = await Promise.all(Array.from({ length: all }, () => begin(list, ann)))
  await Promise.any(readers.map(({ incoming }) => incoming))
  assert.equal((await get("/image?ID=1", ann)).status, 200)
  const refused = await get(list, ann)
  assert.deepEqual([refused.status, refused.headers["retry-after"], refused.body.code], [429, "5", "too_many_requests"])
  assert.equal((await get("/projects?pageSize=2", bob)).status, 200)
  for (const { outgoing } of readers) outgoing.destroy()
  await eventually("a large list is answered again", async () => (await get("/projects?pageSize=5", ann)).status === 200)
})

test("a row deleted while its list is sent is omitted, and no row appears twice", async () => {
  const { incoming } = await begin(list, ann)
  const response = await incoming
  const [deletedProject] = projects
  assert.equal(
    (await sendRequest(server.quayside.baseUrl, "DELETE", `/project?ID=${deletedProject}`, { as: ann.authorization })).status,
    200,
  )
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const { data, pageCount } = JSON.parse(Buffer.concat(chunks).toString())
  assert.deepEqual([ids({ data }), pageCount], [projects.slice(1).toReversed(), 1])
  await ann.client.restoreProject({ query: { ID: deletedProject as number } })
})

/** The texts of the projects of a list, of which all but the first is read after `meanwhile`. */
async function docsOf(as: Person, meanwhile: () => Promise<unknown>): Promise<string[]> {
  const response = await (await begin(list, as)).incoming
  await meanwhile()
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return (JSON.parse(Buffer.concat(chunks).toString()) as { data: { Doc: string }[] }).data.map(({ Doc }) => Doc)
}

test("a person who left the group gets no more of a large list that only the group may see", async () => {
  const carl = await server.person("carl")
  const group = await server.admin.createGroup({ body: { GroupName: "lab", Members: ["ann", "carl"] } })
  for (const ID of projects) await ann.client.createGrant({ body: { ProjectID: ID, GroupName: "lab", Access: "read" } })
  const Doc = `a secret of the group ${"x".repeat(200_000)}`
  const leave = async () => {
    await server.admin.updateGroup({ body: { ID: group.ID, Members: ["ann"] } })
    for (const ID of projects.slice(0, 20)) await ann.client.updateProject({ body: { ID, Doc } })
  }
  const docs = await docsOf(carl, leave)
  assert.ok(docs.length > 0 && docs.length < count, `${docs.length} projects`)
  assert.ok(!docs.includes(Doc))
})

const memberCount = 1_500
const groupCount = 120

/** Makes people and groups in the database: `crowd-…` with all of them and these two people. */
function makeCrowds(...more: readonly number[]): void {
  using db = new DatabaseSync(join(server.dataDir, "quayside.db"))
  const valuesOf = (table: string, name: string) => {
    const columns = db.prepare(`select name from pragma_table_info('${table}') where name <> 'id'`).all()
    return columns.map(({ name: column }) => [column, column === name ? "?" : column].map(String))
  }
  const copy = (table: string, name: string, id: number) => {
    const values = valuesOf(table, name)
    const names = values.map(([column]) => column).join(", ")
    return db.prepare(
      `insert into ${table} (${names}) select ${values.map(([, value]) => value).join(", ")} from ${table} where id = ${id}`,
    )
  }
  const { id: groupId } = db.prepare("select id from groups where group_name = 'crowd'").get() as { id: number }
  const copyUser = copy("users", "user_name", more[0] as number)
  const copyGroup = copy("groups", "group_name", groupId)
  const addMember = db.prepare("insert into group_members (group_id, user_id) values (?, ?)")
  db.exec("begin immediate")
  const members = Array.from({ length: memberCount }, (_, i) => Number(copyUser.run(`${"x".repeat(50)}-${i}`).lastInsertRowid))
  for (let i = 0; i < groupCount; i += 1) {
    const group = Number(copyGroup.run(`crowd-${i}`).lastInsertRowid)
    for (const each of [...more, ...members]) addMember.run(group, each)
  }
  db.exec("commit")
}

test("groups of thousands of members are listed in slices, and left out for people who left them meanwhile", async (t) => {
  const dora = await server.person("dora")
  const { ID: of } = await dora.client.readUser({ query: { UserName: "dora" } })
  await server.admin.createGroup({ body: { GroupName: "crowd", Members: ["ann"] } })
  makeCrowds(of)
  const waits = t.mock.method(sharedScheduler, "waitForNextSlot").mock
  const response = await (await begin(`/groups?pageSize=${groupCount}&sort=ID`, dora)).incoming
  assert.ok(waits.callCount() < groupCount, "it begins before all members are read")
  const { data: groups } = await server.admin.listGroups({ query: { GroupName: `crowd-${groupCount - 1}` } })
  await server.admin.updateGroup({ body: { ID: groups[0]?.ID as number, Members: ["ann"] } })
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: { GroupName: string; Members: string[] }[] }
  assert.deepEqual(
    data.map(({ GroupName }) => GroupName),
    Array.from({ length: groupCount - 1 }, (_, i) => `crowd-${i}`),
  )
  assert.ok(data.every(({ Members }) => Members.length === memberCount + 1))
  assert.ok(waits.callCount() >= groupCount, `${waits.callCount()} turns`)
})

test("an error in the middle of a list aborts the answer", async () => {
  const { incoming } = await begin(list, ann)
  const response = await incoming
  using db = new DatabaseSync(join(server.dataDir, "quayside.db"))
  db.exec("alter table project_datasets rename to elsewhere")
  const read = (async () => {
    for await (const _ of response);
  })()
  await assert.rejects(read, { code: "ECONNRESET" })
  db.exec("alter table elsewhere rename to project_datasets")
})

test("few readers of one person go through stored output at once", async () => {
  const { ID } = await ann.client.startRun({ body: { ProjectID: projects[0] as number } })
  await ann.client.stopRun({ query: { ID } })
  using db = new DatabaseSync(join(server.dataDir, "quayside.db"), { readOnly: true })
  const { key, user_id } = db.prepare("select key, user_id from runs where id = ?").get(ID) as { key: string; user_id: number }
  const directory = join(server.dataDir, "logs", `person-${user_id}`)
  mkdirSync(directory, { recursive: true })
  const line = `${JSON.stringify({ time: 0, stream: "stdout", text: "x".repeat(350) })}\n`
  writeFileSync(join(directory, `${key}.jsonl`), line.repeat(3_000))
  const read = () => sendRequest(server.quayside.baseUrl, "GET", `/running_project/logs?ID=${ID}&tail=1`, { as: ann.authorization })
  const statuses = (await Promise.all(Array.from({ length: 48 }, read))).map(({ status }) => status)
  assert.deepEqual([...new Set(statuses)].sort(), [200, 429])
  assert.ok(statuses.filter((status) => status === 200).length >= largeAnswers.value + waitingLargeAnswers.value)
  assert.equal((await read()).status, 200)
})
