import assert from "node:assert/strict"
import { after, mock, test } from "node:test"
import { basicAuth } from "#client"
import { systemClock } from "#kit"
import { eventually } from "../fixtures/eventually.ts"
import { adminPassword, type Person, startTestServer } from "../test-server.ts"
import { recordEvents } from "./event-recorder.ts"
import { type AnyObject, ids, sendRequest } from "./http-client.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const people = [
  await server.person("ann", { Limits: { IdleMinutes: 60 } }),
  await server.person("bob"),
  await server.person("cid", { Limits: { IdleMinutes: 60 } }),
] as const
const [ann, bob, cid] = people

/** Minutes that seem to have passed without a word from anybody. */
let skippedMinutes = 0
const monotonic = systemClock.monotonic
mock.method(systemClock, "monotonic", () => monotonic() + skippedMinutes * 60_000)

async function startRun(who: Person, fields: object = {}): Promise<number> {
  const image = await who.client.createImage({ body: { Name: "web", Image: "fake/http" } })
  const project = await who.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID, ...fields } })
  return (await who.client.startRun({ body: { ProjectID: project.ID } })).ID
}

const idle = (query: string, as = admin) => sendRequest(baseUrl, "GET", `/idle${query}`, { as })

test("administrators learn whom an idle rule would end, in pages", async () => {
  for (const [query, msg] of [
    ["", "Minutes is needed: the time without use, from 1"],
    ["?Minutes=0", 'Minutes must be a whole number from 1 to 2147483647; got "0"'],
    ["?Minutes=x", 'Minutes must be a whole number from 1 to 2147483647; got "x"'],
  ] as const) {
    const { status, body } = await idle(query)
    assert.deepEqual([status, body.field, body.msg], [400, "Minutes", msg])
  }
  assert.equal((await idle("?Minutes=1", ann.authorization)).status, 403)
  await using events = await recordEvents(ann.client)
  const [warned, unlimited, limited] = [await startRun(ann), await startRun(bob), await startRun(cid, { IdleMinutes: 50 })]
  const isMeasured = async (who: Person, ID: number) => (await who.client.runStats({ query: { ID } })).now.Cpus !== null
  // The first measurement and the first check come after 10 s, and processors are known after 20 s.
  await eventually("the runs are measured", () => isMeasured(cid, limited), 60_000)
  skippedMinutes = 51
  const found = await idle("?Minutes=51")
  assert.deepEqual(ids(found), [limited, unlimited, warned])
  const { ID, ProjectID, UserName, LastActivity, IdleMinutes, ...more } = (found.body.data as unknown as AnyObject[])[1] as AnyObject
  const run = await bob.client.readRun({ query: { ID: unlimited } })
  assert.deepEqual([ID, ProjectID, UserName, IdleMinutes, more], [unlimited, run.ProjectID, "bob", 51, {}])
  assert.deepEqual([typeof LastActivity, LastActivity], ["string", run.LastActivity])
  assert.deepEqual(ids(await idle("?Minutes=53")), [])
  const page = await idle("?Minutes=51&page=2&pageSize=2")
  assert.deepEqual([ids(page), page.body.page, page.body.pageCount, page.body.pageSize], [[warned], 2, 2, 2])

  // The project's limit passed as well, but nobody was told yet.
  const event = await events.until(`run.warning ${warned}`)
  const { IdleExpiresAt } = await ann.client.readRun({ query: { ID: warned } })
  assert.match(String(event.data.Warning), /^Nobody uses the run/)
  assert.ok(Math.abs(Date.parse(String(event.data.EndsAt)) - Date.parse(String(IdleExpiresAt))) < 1_000)
  const leftMs = Date.parse(String(IdleExpiresAt)) - Date.now()
  assert.ok(leftMs > 9 * 60_000 && leftMs <= 10 * 60_000, `${leftMs} ms until the end`)
  assert.equal((await bob.client.readRun({ query: { ID: unlimited } })).IdleExpiresAt, null)
  assert.equal((await ann.client.keepRun({ query: { ID: warned } })).IdleExpiresAt, null)
  await events.until(`run.updated ${warned}`)
  for (const [who, query] of [
    [ann, { ID: warned }],
    [bob, { ID: unlimited }],
    [cid, { ID: limited }],
  ] as const)
    assert.equal((await who.client.readRun({ query })).State, "ready")
})
