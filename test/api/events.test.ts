import assert from "node:assert/strict"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test } from "node:test"
import { bearerAuth, createClient, followEvents } from "#client"
import { withSoonExpiring } from "../fixtures/expiry.ts"
import { type Person, startTestServer } from "../test-server.ts"
import { recordEvents } from "./event-recorder.ts"
import { sendRequest } from "./http-client.ts"

const testServer = await startTestServer({ "open-streams": "20" })
after(() => testServer[Symbol.asyncDispose]())
const { baseUrl } = testServer.quayside
const { admin } = testServer
const ann = await testServer.person("ann")
const bob = await testServer.person("bob")
const image = (as: Person, fields: object = {}) => as.client.createImage({ body: { Name: "a", Image: "b", ...fields } })
/** An object whose event everybody receives last. */
const createMarker = async () => `image.created ${(await image(ann, { IsPublished: true })).ID}`

test("events report creation, change, deletion and restoration in commit order with growing IDs", async () => {
  await using recorder = await recordEvents(ann.client)
  const { ID } = await image(ann)
  await ann.client.updateImage({ body: { ID, Comment: "c" } })
  // An object deleted before delivery causes only its `deleted` event.
  await recorder.until(`image.updated ${ID}`)
  await ann.client.deleteImage({ query: { ID } })
  await ann.client.restoreImage({ query: { ID } })
  await recorder.until(`image.restored ${ID}`)
  assert.deepEqual(
    recorder.received,
    ["created", "updated", "deleted", "restored"].map((verb) => `image.${verb} ${ID}`),
  )
  const ids = recorder.events.map(({ id }) => Number(id))
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => a - b),
  )
  assert.equal(new Set(ids).size, 4)
  assert.deepEqual(recorder.events[0]?.data, { ID })
})

test("only people who may see an object receive its events", async () => {
  await using bobsEvents = await recordEvents(bob.client)
  await using adminsEvents = await recordEvents(admin)
  const hidden = await image(ann)
  const token = await ann.client.createToken({ body: { Name: "t" } })
  const marker = await createMarker()
  await bobsEvents.until(marker)
  await adminsEvents.until(marker)
  assert.deepEqual(bobsEvents.received, [marker])
  assert.deepEqual(adminsEvents.received, [`image.created ${hidden.ID}`, marker], "only its owner receives events of a token")
  await ann.client.deleteToken({ query: { ID: token.ID } })
})

test("people who lose access to an object get `deleted`, and people who gain it get `updated`", async () => {
  await using bobsEvents = await recordEvents(bob.client)
  const { ID } = await image(ann)
  const expectEvent = async (event: string, change: () => Promise<unknown>) => {
    await change()
    const { data } = await bobsEvents.until(`${event} ${ID}`)
    assert.deepEqual(data, { ID }, "only the ID")
    bobsEvents.received.length = bobsEvents.events.length = 0
  }
  const update = (fields: object) => () => admin.updateImage({ body: { ID, ...fields } })
  await expectEvent("image.updated", update({ IsPublished: true }))
  await expectEvent("image.deleted", update({ IsPublished: false }))
  await expectEvent("image.updated", update({ UserName: "bob" }))
  await expectEvent("image.deleted", update({ UserName: "ann" }))
  await expectEvent("image.updated", update({ IsPublished: true }))
  await expectEvent("image.deleted", () => ann.client.deleteImage({ query: { ID } }))
  await expectEvent("image.restored", () => ann.client.restoreImage({ query: { ID } }))
  await expectEvent("image.deleted", update({ IsPublished: false }))
})

test("joining and leaving a group sends events for its projects and for the group itself", async () => {
  const { ID: ImageID } = await image(ann)
  const group = await admin.createGroup({ body: { GroupName: "crew", Members: ["ann"] } })
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID, GroupName: "crew" } })
  await using bobsEvents = await recordEvents(bob.client)
  await admin.updateGroup({ body: { ID: group.ID, Members: ["ann", "bob"] } })
  await bobsEvents.until(`project.updated ${project.ID}`)
  await admin.updateGroup({ body: { ID: group.ID, Members: ["ann"] } })
  await bobsEvents.until(`project.deleted ${project.ID}`)
  await admin.updateGroup({ body: { ID: group.ID, Members: ["bob"] } })
  // An object that appears and disappears within one delivery counts as deleted.
  await bobsEvents.until(await createMarker())
  await ann.client.updateProject({ body: { ID: project.ID, Comment: "still hers" } })
  await bobsEvents.until(await createMarker())
  await admin.deleteGroup({ query: { ID: group.ID } })
  const marker = await createMarker()
  await bobsEvents.until(marker)
  const [groups, projects] = ["group", "project"].map((type) => bobsEvents.received.filter((each) => each.startsWith(type)))
  assert.deepEqual(
    groups,
    ["updated", "deleted", "updated", "deleted"].map((verb) => `group.${verb} ${group.ID}`),
  )
  assert.deepEqual(
    projects,
    ["updated", "deleted", "updated", "updated", "deleted"].map((verb) => `project.${verb} ${project.ID}`),
  )
})

test("becoming an administrator, or ceasing to be one, resets that person's streams", async () => {
  const carl = await testServer.person("carl")
  const { ID } = await admin.readUser({ query: { UserName: "carl" } })
  const hidden = await image(ann)
  await using recorder = await recordEvents(carl.client)
  await admin.updateUser({ body: { ID, IsAdmin: true } })
  await recorder.until("reset")
  await ann.client.updateImage({ body: { ID: hidden.ID, Comment: "c" } })
  await recorder.until(`image.updated ${hidden.ID}`)
  await admin.updateUser({ body: { ID, IsAdmin: false } })
  await ann.client.updateImage({ body: { ID: hidden.ID, Comment: "d" } })
  const marker = await createMarker()
  await recorder.until(marker)
  assert.deepEqual(recorder.received.slice(-2), ["reset", marker])
})

test("run events carry state and reason, and omit the reason for the project's owner", async () => {
  const { ID: ImageID } = await image(ann, { IsPublished: true, Image: "no/such" })
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID, IsPublic: true } })
  await using annsEvents = await recordEvents(ann.client)
  await using bobsEvents = await recordEvents(bob.client)
  const failure = await bob.client.startRun({ body: { ProjectID: project.ID, Cpus: 10_000 } }).catch((error) => error)
  const ID = failure.extra.ID
  const expected = { ID, ProjectID: project.ID, State: "failed" }
  assert.deepEqual((await bobsEvents.until(`run.state ${ID}`)).data, { ...expected, Reason: { code: failure.code, msg: failure.message } })
  assert.deepEqual((await annsEvents.until(`run.state ${ID}`)).data, { ...expected, Reason: null })
  assert.ok(bobsEvents.received.includes(`run.created ${ID}`))
  await admin.updateProject({ body: { ID: project.ID, UserName: "admin" } })
  await annsEvents.until(`run.deleted ${ID}`)
  await bobsEvents.until(await createMarker())
  assert.ok(!bobsEvents.received.includes(`run.deleted ${ID}`), "the starter still owns it")
})

test("`Last-Event-ID` replays missed events by current rights, also after a restart", async () => {
  const first = await recordEvents(bob.client)
  const open = await image(ann, { IsPublished: true })
  await first.until(`image.created ${open.ID}`)
  await first[Symbol.asyncDispose]()
  const { lastEventId } = first
  const missed = await image(ann, { IsPublished: true })
  const withdrawn = await image(ann, { IsPublished: true })
  await ann.client.updateImage({ body: { ID: open.ID, IsPublished: false } })
  await ann.client.updateImage({ body: { ID: withdrawn.ID, IsPublished: false } })
  const marker = await createMarker()
  const expected = [`image.created ${missed.ID}`, `image.deleted ${open.ID}`, `image.deleted ${withdrawn.ID}`, marker]
  for (const restarts of [false, true]) {
    if (restarts) await testServer.restart()
    await using repeated = await recordEvents(bob.client, lastEventId)
    await repeated.until(expected.at(-1) ?? marker)
    assert.deepEqual(repeated.received, expected)
    const next = await createMarker()
    await repeated.until(next)
    assert.deepEqual(repeated.received, [...expected, next])
    expected.push(next)
  }
})

test("an unknown `Last-Event-ID` returns a reset, and a malformed one 400", async () => {
  await using recorder = await recordEvents(bob.client, "999999999")
  await recorder.until("reset")
  const marker = await createMarker()
  await recorder.until(marker)
  assert.deepEqual(recorder.received, ["reset", marker])
  const answer = await sendRequest(baseUrl, "GET", "/events", { as: bob.authorization, headers: { "last-event-id": "yesterday" } })
  assert.deepEqual([answer.status, answer.body.field], [400, "Last-Event-ID"])
})

test("a stream ends when the person is disabled, the token revoked or expired, the session over", async () => {
  const dora = await testServer.person("dora")
  const { ID } = await admin.readUser({ query: { UserName: "dora" } })
  const withToken = (token: string) => recordEvents(createClient({ baseUrl, authorization: bearerAuth(token) }))
  const revoked = await dora.client.createToken({ body: { Name: "t" } })
  await using one = await withToken(revoked.Token)
  await dora.client.deleteToken({ query: { ID: revoked.ID } })
  await one.ended
  await using two = await withSoonExpiring(async (ExpiresAt) => {
    const short = await dora.client.createToken({ body: { Name: "t", ExpiresAt } })
    return withToken(short.Token)
  })
  await two.ended
  const signedIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "dora", Password: dora.password } })
  const cookie = String(signedIn.headers["set-cookie"]).split(";")[0] as string
  const browser = createClient({
    baseUrl,
    fetch: (url, init) => fetch(url, { ...init, headers: { ...(init?.headers as object), cookie } }),
  })
  await using three = await recordEvents(browser)
  assert.equal((await sendRequest(baseUrl, "DELETE", "/session", { headers: { cookie, "sec-fetch-site": "same-origin" } })).status, 200)
  await three.ended
  await using four = await recordEvents(dora.client)
  await admin.updateUser({ body: { ID, IsDisabled: true } })
  await four.ended
})

test("event streams require credentials that may read, and HEAD returns headers only", async () => {
  assert.equal((await sendRequest(baseUrl, "GET", "/events")).status, 401)
  const run = await ann.client.createToken({ body: { Name: "r", Scopes: ["run:1"] } })
  assert.equal((await sendRequest(baseUrl, "GET", "/events", { as: bearerAuth(run.Token) })).status, 403)
  const eva = await testServer.person("eva", { IsDisabled: false })
  await admin.updateUser({ body: { ID: (await admin.readUser({ query: { UserName: "eva" } })).ID, IsDisabled: true } })
  assert.equal((await sendRequest(baseUrl, "GET", "/events", { as: eva.authorization })).status, 401)
  const head = await sendRequest(baseUrl, "HEAD", "/events", { as: ann.authorization })
  assert.deepEqual([head.status, head.headers["content-type"], head.text], [200, "text/event-stream; charset=utf-8", ""])
  assert.equal((await sendRequest(baseUrl, "POST", "/events", { as: ann.authorization })).status, 405)
  const read = await ann.client.createToken({ body: { Name: "r", Scopes: ["read"] } })
  await using recorder = await recordEvents(createClient({ baseUrl, authorization: bearerAuth(read.Token) }))
  await recorder.until(await createMarker())
})

test("one person has as many streams as the setting allows, and administrators have more", async () => {
  const flo = await testServer.person("flo")
  const streams = await Promise.all(Array.from({ length: 20 }, () => recordEvents(flo.client)))
  await assert.rejects(recordEvents(flo.client), { status: 429, code: "too_many_requests" })
  const more = await Promise.all(Array.from({ length: 21 }, () => recordEvents(admin)))
  await Promise.all(more.map((each) => each[Symbol.asyncDispose]()))
  await streams[0]?.[Symbol.asyncDispose]()
  for (let open = false; !open; ) {
    const repeated = await recordEvents(flo.client).catch(() => undefined)
    open = repeated !== undefined
    if (repeated) streams.push(repeated)
  }
  await Promise.all(streams.map((each) => each[Symbol.asyncDispose]()))
})

test("a client that follows events continues after the last one when the server restarts", async () => {
  const stop = new AbortController()
  const received: string[] = []
  const seen = Promise.withResolvers<void>()
  const before = await createMarker()
  const start = await recordEvents(bob.client)
  const { lastEventId } = start
  await start[Symbol.asyncDispose]()
  let last = ""
  const following = (async () => {
    for await (const { event, data } of followEvents(bob.client, { signal: stop.signal, after: lastEventId, waitMs: 50 })) {
      received.push(`${event} ${data.ID}`)
      if (received.at(-1) === last) seen.resolve()
    }
  })()
  const one = await createMarker()
  await testServer.restart()
  const two = await image(ann, { IsPublished: true })
  last = `image.created ${two.ID}`
  if (received.includes(last)) seen.resolve()
  await seen.promise
  stop.abort()
  await following
  assert.deepEqual(
    received.filter((each) => each.startsWith("image.")),
    [one, last],
  )
  assert.ok(!received.includes(before))
})

test("deleting a member sends an event to everybody who sees the group, and makes earlier reads stale", async () => {
  const cleo = await testServer.person("cleo")
  const dodo = await admin.createUser({ body: { UserName: "dodo" } })
  const { ID } = await admin.createGroup({ body: { GroupName: "staff", Members: ["cleo", "dodo"] } })
  const read = await sendRequest(baseUrl, "GET", `/group?ID=${ID}`, { as: cleo.authorization })
  await using cleosEvents = await recordEvents(cleo.client)
  await admin.deleteUser({ query: { ID: dodo.ID } })
  await cleosEvents.until(`group.updated ${ID}`)
  const group = await cleo.client.readGroup({ query: { ID } })
  assert.deepEqual(group.Members, ["cleo"])
  const stale = admin.updateGroup({ body: { ID, Comment: "c" }, headers: { "if-match": String(read.headers.etag) } })
  await assert.rejects(stale, { code: "stale" })
})

test("the deletion of an object with many grants is a short event, and each of these people gets it", async () => {
  const { ID: ImageID } = await image(ann)
  await using bobsEvents = await recordEvents(bob.client)
  for (let i = 0; i < 51; i += 1) {
    if (i > 0) await admin.createUser({ body: { UserName: `grantee${i}`, Password: "a long password" } })
    await admin.createGrant({ body: { ImageID, UserName: i > 0 ? `grantee${i}` : "bob", Access: "read" } })
  }
  await ann.client.deleteImage({ query: { ID: ImageID } })
  await bobsEvents.until(`image.deleted ${ImageID}`)
  if (testServer.databaseUrl !== undefined) return
  using database = new DatabaseSync(join(testServer.dataDir, "quayside.db"), { readOnly: true })
  const rows = database.prepare("select max(length(data)) as size from journal where thing_type = 'image' and thing_id = ?").get(ImageID)
  assert.ok(Number(rows?.size) < 500, `${rows?.size}`)
})
