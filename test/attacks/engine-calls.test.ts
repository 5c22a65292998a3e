import assert from "node:assert/strict"
import { once } from "node:events"
import { type ClientRequest, type IncomingMessage, request } from "node:http"
import { after, before, test } from "node:test"
import { basicAuth } from "#client"
import { sendRequest } from "../api/http-client.ts"
import { eventually } from "../fixtures/eventually.ts"
import { adminPassword, type Person, startTestServer, type TestServer } from "../test-server.ts"

const maxOpen = 3
const streamsPerMinute = 20
let server: TestServer
let ann: Person
before(async () => {
  server = await startTestServer({ "open-streams": String(maxOpen), "streams-per-minute": String(streamsPerMinute) })
  ann = await server.person("ann")
})
after(() => server[Symbol.asyncDispose]())

/** Resolves with the head of the answer, which may go on. */
async function follow(ID: number, authorization: string): Promise<{ outgoing: ClientRequest; status: number | undefined }> {
  const { port } = new URL(server.quayside.baseUrl)
  const path = `/running_project/logs?ID=${ID}&follow=1`
  const outgoing = request({ host: "127.0.0.1", port, path, headers: { authorization }, agent: false })
  outgoing.on("error", () => {}).end()
  const [response] = (await once(outgoing, "response")) as [IncomingMessage]
  return { outgoing, status: response.statusCode }
}

test("followed outputs beyond a person's maximum, and beyond their rate, are refused", async () => {
  const { ID: ImageID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/ready" } })
  const { ID: ProjectID } = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID } })
  const { ID } = await ann.client.startRun({ body: { ProjectID } })
  const begin = () => follow(ID, ann.authorization)
  const open = await Promise.all(Array.from({ length: maxOpen }, begin))
  assert.deepEqual(new Set(open.map(({ status }) => status)), new Set([200]))
  assert.equal((await begin()).status, 429)
  open[0]?.outgoing.destroy()
  await eventually("another output can be followed", async () => (await begin()).status === 200)
  for (const { outgoing } of open) outgoing.destroy()
  for (let n = 0; n < streamsPerMinute; n += 1) (await begin()).outgoing.destroy()
  const as = { as: ann.authorization }
  assert.equal((await sendRequest(server.quayside.baseUrl, "HEAD", "/events", as)).status, 429)
  assert.equal((await begin()).status, 429)
})

test("hundreds of reads of the use of a run at once are refused, and those of others are not", async () => {
  const { ID: ImageID } = await ann.client.createImage({ body: { Name: "u", Image: "fake/ready" } })
  const { ID: ProjectID } = await ann.client.createProject({ body: { ProjectName: "u", Type: "http", ImageID } })
  const { ID } = await ann.client.startRun({ body: { ProjectID } })
  const read = (as: string) => sendRequest(server.quayside.baseUrl, "GET", `/running_project/stats?ID=${ID}`, { as })
  const admin = basicAuth("admin", adminPassword)
  assert.equal((await read(admin)).status, 200)
  const all = Array.from({ length: 300 }, () => read(ann.authorization))
  assert.equal((await read(admin)).status, 200)
  const statuses = new Set((await Promise.all(all)).map(({ status }) => status))
  assert.deepEqual([...statuses].sort(), [200, 429])
})
