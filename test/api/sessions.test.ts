import assert from "node:assert/strict"
import { once } from "node:events"
import { after, test } from "node:test"
import { WebSocket } from "ws"
import { controlProtocols } from "#channel"
import { basicAuth, bearerAuth } from "#client"
import { bounds, type Session } from "#contract"
import { isSignedIn, signIn } from "../fixtures/browser-session.ts"
import { adminPassword, startTestServer } from "../test-server.ts"
import { ids, sendRequest } from "./http-client.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl, filesUrl } = server.quayside
const list = async (headers: Record<string, string>, query = "") =>
  (await sendRequest(baseUrl, "GET", `/sessions${query}`, { headers })).body.data as unknown as Session[]
const end = (query: string, options: { headers?: Record<string, string>; as?: string }) =>
  sendRequest(baseUrl, "DELETE", `/session?${query}`, options)

test("a session shows when and where it began, its browser cut off, and whether it is the caller's", async () => {
  const ann = await server.person("ann")
  const maxLength = bounds.accounts.browserCharacters.value
  const browser = `Mozilla/5.0\t<script>\u00e9 ${"x".repeat(maxLength)}`
  const here = await signIn(baseUrl, ann, { "user-agent": browser })
  const there = await signIn(baseUrl, ann)
  const [newest, oldest] = await list(here.headers)
  assert.deepEqual([newest?.ID, newest?.IsCurrent, newest?.Browser], [there.id, false, ""])
  assert.deepEqual([oldest?.ID, oldest?.IsCurrent, oldest?.UserName], [here.id, true, "ann"])
  assert.equal(oldest?.Browser, browser.slice(0, maxLength))
  assert.match(String(oldest?.Address), /^(127\.0\.0\.1|::1)$/)
  const lastsMs = Date.parse(String(oldest?.ExpiresAt)) - Date.parse(String(oldest?.CreatedAt))
  assert.equal(Math.round(lastsMs / 86_400_000), bounds.accounts.sessionDays.value)
  const withToken = await ann.client.listSessions()
  assert.deepEqual([ids(withToken), withToken.data.some(({ IsCurrent }) => IsCurrent)], [[there.id, here.id], false])
})

test("`ID` ends one session, also by a token, and removes the cookie only with the browser's own", async () => {
  const bea = await server.person("bea")
  const [one, two, three] = [await signIn(baseUrl, bea), await signIn(baseUrl, bea), await signIn(baseUrl, bea)]
  const byBrowser = await end(`ID=${two.id}`, { headers: one.headers })
  assert.deepEqual([byBrowser.status, byBrowser.body, byBrowser.headers["set-cookie"]], [200, { ok: true }, undefined])
  await bea.client.deleteSession({ query: { ID: three.id } })
  assert.deepEqual([await isSignedIn(baseUrl, one), await isSignedIn(baseUrl, two), await isSignedIn(baseUrl, three)], [true, false, false])
  assert.equal((await end(`ID=${two.id}`, { headers: one.headers })).status, 404, "nothing ends twice")
  const own = await end(`ID=${one.id}`, { headers: one.headers })
  assert.match(String(own.headers["set-cookie"]), /Max-Age=0/)
  assert.equal(await isSignedIn(baseUrl, one), false)
  const { data } = await server.admin.listAudit({ query: { UserName: "bea", Action: "session.deleted" } })
  assert.deepEqual(
    data.map(({ Thing }) => Thing),
    [one, three, two].map(({ id }) => ({ Type: "session", ID: id })),
  )
})

test("`Others=1` leaves the browser's own session, and by a token ends all", async () => {
  const cleo = await server.person("cleo")
  const [here, there] = [await signIn(baseUrl, cleo), await signIn(baseUrl, cleo)]
  const done = await end("Others=1", { headers: here.headers })
  assert.deepEqual([done.status, done.headers["set-cookie"]], [200, undefined])
  assert.deepEqual([await isSignedIn(baseUrl, here), await isSignedIn(baseUrl, there)], [true, false])
  await cleo.client.deleteSession({ query: { Others: true } })
  assert.equal(await isSignedIn(baseUrl, here), false)
})

test("ending sessions when there are none leaves no trace, which would fill the reserve of a full disk", async () => {
  const ivo = await server.person("ivo")
  const session = await signIn(baseUrl, ivo)
  for (const query of ["Others=1", "All=1", "Others=1", "All=1"]) assert.equal((await end(query, { as: ivo.authorization })).status, 200)
  assert.equal(await isSignedIn(baseUrl, session), false)
  const { data } = await server.admin.listAudit({ query: { UserName: "ivo", Action: "session.deleted" } })
  assert.equal(data.length, 1)
})

test("administrators list and end everybody's sessions, and other people learn nothing of them", async () => {
  const [dora, emil] = [await server.person("dora"), await server.person("emil")]
  const [first, second] = [await signIn(baseUrl, dora), await signIn(baseUrl, dora)]
  const admin = { as: basicAuth("admin", adminPassword) }
  const everybody = await server.admin.listSessions({ query: { pageSize: 200 } })
  assert.ok([first.id, second.id].every((id) => ids(everybody).includes(id)))
  assert.deepEqual(ids(await server.admin.listSessions({ query: { UserName: "dora" } })), [second.id, first.id])
  assert.deepEqual((await emil.client.listSessions()).data, [])
  for (const UserName of ["dora", "nobody"])
    assert.deepEqual(await emil.client.listSessions({ query: { UserName } }), { data: [], page: 1, pageCount: 0, pageSize: 20 })

  const refusals = ["dora", "nobody"].map((name) => end(`All=1&UserName=${name}`, { as: emil.authorization }))
  const [ofDora, ofNobody] = await Promise.all(refusals)
  assert.deepEqual([ofDora?.status, ofDora?.body.msg], [403, ofNobody?.body.msg])
  assert.equal((await end("All=1&UserName=nobody", admin)).status, 404)
  assert.equal((await end(`ID=${first.id}`, admin)).status, 200)
  assert.deepEqual([await isSignedIn(baseUrl, first), await isSignedIn(baseUrl, second)], [false, true])
  const all = await end("All=1&UserName=dora", admin)
  assert.deepEqual([all.status, all.headers["set-cookie"], await isSignedIn(baseUrl, second)], [200, undefined, false])
  const { data } = await server.admin.listAudit({ query: { UserName: "admin", Action: "session.deleted" } })
  const { ID } = await server.admin.readUser({ query: { UserName: "dora" } })
  assert.deepEqual(
    data.map(({ Thing }) => Thing),
    [
      { Type: "user", ID },
      { Type: "session", ID: first.id },
    ],
  )
})

test("contradicting parameters are rejected and end nothing", async () => {
  const fay = await server.person("fay")
  const session = await signIn(baseUrl, fay)
  for (const [query, field] of [
    [`ID=${session.id}&Others=1`, "ID"],
    ["All=1&Others=1", "ID"],
    [`ID=${session.id}&UserName=fay`, "UserName"],
    ["UserName=fay", "UserName"],
    ["ID=x", "ID"],
  ] as const) {
    const { status, body } = await end(query, { headers: session.headers })
    assert.deepEqual([status, body.field], [400, field], query)
  }
  assert.equal((await end(`ID=${session.id}`, {})).status, 401)
  assert.equal(await isSignedIn(baseUrl, session), true)
})

test("an ended session closes its event stream, control connection and files token, and what another session opened stays", async () => {
  const gus = await server.person("gus")
  const image = await gus.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const project = await gus.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const run = await gus.client.startRun({ body: { ProjectID: project.ID } })
  const open = async () => {
    const session = await signIn(baseUrl, gus)
    const stream = await fetch(`${baseUrl}/events`, { headers: session.headers })
    const over = stream.text().then(
      () => "over",
      () => "over",
    )
    const control = new WebSocket(run.ControlURL, [...controlProtocols], { headers: { ...session.headers, origin: baseUrl } })
    await once(control, "open")
    const { body } = await sendRequest(baseUrl, "POST", "/files-token", { headers: session.headers })
    const files = bearerAuth(String(body.Token))
    const readHome = async () => (await sendRequest(filesUrl, "GET", "/users/gus/?list=json", { as: files })).status
    return { session, over, control, closed: once(control, "close"), readHome }
  }
  const [ended, other] = [await open(), await open()]
  assert.deepEqual([await ended.readHome(), await other.readHome()], [200, 200])
  await gus.client.deleteSession({ query: { ID: ended.session.id } })
  assert.equal(await ended.over, "over")
  await ended.closed
  assert.deepEqual([await ended.readHome(), await other.readHome()], [401, 200])
  assert.equal(other.control.readyState, WebSocket.OPEN)
  assert.equal(await Promise.race([other.over, "open"]), "open")
  other.control.close()
  await gus.client.deleteSession({ query: { ID: other.session.id } })
  await other.over
})
