import assert from "node:assert/strict"
import { once } from "node:events"
import { after, test } from "node:test"
import { WebSocket } from "ws"
import { basicAuth, bearerAuth, createClient } from "#client"
import { signIn } from "../fixtures/browser-session.ts"
import { eventually } from "../fixtures/eventually.ts"
import { untilExpired, withSoonExpiring } from "../fixtures/expiry.ts"
import { type ServerProcess, startServerProcess } from "../server-process.ts"
import { newDatabase } from "../test-server.ts"
import { sendRequest } from "./http-client.ts"

/** `src/store/whole.postgres.test.ts` runs this file with a server. SQLite has one process. */
const postgres = process.env.TEST_POSTGRES
const skip = postgres === undefined && "several processes share a database on PostgreSQL alone"
/** Facts that every process must learn when another one ends something. */
const promisedMs = 5_000

const closing = new AsyncDisposableStack()
after(() => closing.disposeAsync())

let started: Promise<[ServerProcess, ServerProcess]> | undefined

/** The same two processes for all tests here. */
function twoProcesses(): Promise<[ServerProcess, ServerProcess]> {
  started ??= startTwo()
  return started
}

async function startTwo(): Promise<[ServerProcess, ServerProcess]> {
  const database = await newDatabase(String(postgres))
  closing.defer(() => database.drop())
  const env = { QUAYSIDE_ENGINE: "fake", QUAYSIDE_DATABASE_URL: database.url }
  return [closing.use(await startServerProcess(env)), closing.use(await startServerProcess(env))]
}

/** Fails if the condition is not true within the promised time. */
async function soon(what: string, settled: Promise<unknown>): Promise<void> {
  const late = AbortSignal.timeout(promisedMs)
  const lateness = once(late, "abort").then(() => Promise.reject(new Error(`${what} after more than ${promisedMs} ms`)))
  await Promise.race([settled, lateness])
}

/** Resolves when this process rejects the credential. */
async function refused(url: string, authorization: { as?: string; headers?: Record<string, string> }, path = "/whoami"): Promise<void> {
  await eventually(`${path} rejects the credential`, async () => (await sendRequest(url, "GET", path, authorization)).status === 401)
}

test("a revocation in one process reaches every other within 5 s, open sockets and logs included", { skip }, async () => {
  const [here, there] = await twoProcesses()
  const admin = createClient({ baseUrl: there.baseUrl, authorization: basicAuth("admin", there.password) })
  await admin.createUser({ body: { UserName: "zoe", Password: "zoe-password" } })
  const own = createClient({ baseUrl: here.baseUrl, authorization: basicAuth("zoe", "zoe-password") })
  const image = await own.createImage({ body: { Name: "i", Image: "fake/http" } })
  const project = await own.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const run = await own.startRun({ body: { ProjectID: project.ID } })
  const { ID, Token } = await own.createToken({ body: { Name: "opens" } })
  const as = bearerAuth(Token)

  const socket = new WebSocket(run.URL.replace("http:", "ws:"), { headers: { authorization: as } })
  await once(socket, "open")
  const socketOver = once(socket, "close")
  const logs = await fetch(`${here.baseUrl}/running_project/logs?ID=${run.ID}&follow=1`, { headers: { authorization: as } })
  assert.equal(logs.status, 200)
  const logsOver = logs.text().catch(() => "cut off")
  assert.equal((await sendRequest(here.baseUrl, "GET", "/whoami", { as })).status, 200)
  await createClient({ baseUrl: there.baseUrl, authorization: basicAuth("zoe", "zoe-password") }).deleteToken({ query: { ID } })
  await Promise.all([
    soon("The socket was cut", socketOver),
    soon("The logs ended", logsOver),
    soon("The token was refused", refused(here.baseUrl, { as })),
  ])

  const signedIn = await sendRequest(there.baseUrl, "POST", "/session", { body: { UserName: "zoe", Password: "zoe-password" } })
  const headers = { cookie: String(signedIn.headers["set-cookie"]).split(";")[0] ?? "" }
  const password = { as: basicAuth("zoe", "zoe-password") }
  const elsewhere = await signIn(there.baseUrl, { userName: "zoe", password: "zoe-password" })
  for (const authorization of [{ headers }, { headers: elsewhere.headers }, password])
    assert.equal((await sendRequest(here.baseUrl, "GET", "/whoami", authorization)).status, 200)
  const stream = await fetch(`${here.baseUrl}/events`, { headers: elsewhere.headers })
  const streamOver = stream.text().catch(() => "cut off")
  await sendRequest(there.baseUrl, "DELETE", `/session?ID=${elsewhere.id}`, password)
  await Promise.all([
    soon("The stream of the ended session was cut", streamOver),
    soon("The ended session was refused", refused(here.baseUrl, { headers: elsewhere.headers })),
  ])
  assert.equal((await sendRequest(here.baseUrl, "GET", "/whoami", { headers })).status, 200, "the other session stays")
  const { ID: userId } = await admin.readUser({ query: { UserName: "zoe" } })
  await admin.updateUser({ body: { ID: userId, IsDisabled: true } })
  await Promise.all([
    soon("The session was refused", refused(here.baseUrl, { headers })),
    soon("The password was refused", refused(here.baseUrl, password)),
  ])
})

test("a new password, a disabling and a deletion end credentials in every process", { skip }, async () => {
  const [here, there] = await twoProcesses()
  const admin = createClient({ baseUrl: there.baseUrl, authorization: basicAuth("admin", there.password) })
  for (const change of [{ Password: "another password" }, { IsDisabled: true }, "deletion"] as const) {
    const name = typeof change === "string" ? "deleted" : (Object.keys(change)[0] ?? "").toLowerCase()
    const { ID } = await admin.createUser({ body: { UserName: name, Password: "first password" } })
    const as = basicAuth(name, "first password")
    const signedIn = await sendRequest(there.baseUrl, "POST", "/session", { body: { UserName: name, Password: "first password" } })
    const headers = { cookie: String(signedIn.headers["set-cookie"]).split(";")[0] ?? "" }
    const token = await createClient({ baseUrl: here.baseUrl, authorization: as }).createToken({ body: { Name: "t" } })
    const own = createClient({ baseUrl: here.baseUrl, authorization: as })
    const image = await own.createImage({ body: { Name: "i", Image: "fake/http" } })
    const project = await own.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
    const run = await own.startRun({ body: { ProjectID: project.ID } })
    const socket = new WebSocket(run.URL.replace("http:", "ws:"), { headers: { authorization: as } })
    await once(socket, "open")
    const socketOver = once(socket, "close")
    const stream = await fetch(`${here.baseUrl}/events`, { headers: { authorization: as } })
    const streamOver = stream.text().catch(() => "cut off")
    const home = `/users/${name}/`
    assert.equal((await fetch(`${here.filesUrl}${home}`, { method: "PROPFIND", headers: { authorization: as, depth: "0" } })).status, 207)
    for (const authorization of [{ headers }, { as }])
      assert.equal((await sendRequest(here.baseUrl, "GET", "/whoami", authorization)).status, 200)
    if (change === "deletion") await admin.deleteUser({ query: { ID } })
    else await admin.updateUser({ body: { ID, ...change } })
    await Promise.all([
      soon(`${name}: the socket was cut`, socketOver),
      soon(`${name}: the stream of events ended`, streamOver),
      soon(`${name}: the session was refused`, refused(here.baseUrl, { headers })),
      soon(`${name}: the password was refused`, refused(here.baseUrl, { as })),
      soon(`${name}: the password was refused for files`, refused(here.filesUrl, { as }, home)),
    ])
    const response = await sendRequest(here.baseUrl, "GET", "/whoami", { as: bearerAuth(token.Token) })
    assert.equal(response.status, name === "password" ? 200 : 401, `${name}: the token`)
  }
})

test("a grant that is revoked or expires in one process ends at once in every other, and for files within 5 s", {
  skip,
}, async () => {
  const [here, there] = await twoProcesses()
  const admin = createClient({ baseUrl: there.baseUrl, authorization: basicAuth("admin", there.password) })
  for (const UserName of ["zed", "gus"]) await admin.createUser({ body: { UserName, Password: `${UserName}-password` } })
  const tokenOf = async (name: string) => {
    const byPassword = createClient({ baseUrl: here.baseUrl, authorization: basicAuth(name, `${name}-password`) })
    return bearerAuth((await byPassword.createToken({ body: { Name: "t" } })).Token)
  }
  const [zeds, as] = [await tokenOf("zed"), await tokenOf("gus")]
  const zed = createClient({ baseUrl: here.baseUrl, authorization: zeds })
  const image = await zed.createImage({ body: { Name: "i", Image: "fake/http", IsPublished: true } })
  const data = await zed.createData({ body: { Name: "d" } })
  const fields = { ProjectName: "p", Type: "http", ImageID: image.ID, IsPublic: true, TrainData: [{ ID: data.ID }] } as const
  const project = await zed.createProject({ body: fields })
  const file = `${data.AccessInfo}/a.txt`
  assert.equal((await sendRequest(here.filesUrl, "PUT", file, { as: zeds, body: "x" })).status, 201)
  const reads = async () => (await sendRequest(here.filesUrl, "GET", file, { as })).status
  const readStatus = async () => (await sendRequest(here.baseUrl, "GET", `/data?ID=${data.ID}`, { as })).status
  const preview = async () => (await sendRequest(here.baseUrl, "POST", "/preview", { as, body: { ProjectID: project.ID } })).body
  const hidden = () => eventually("the file is hidden", async () => (await reads()) === 404)
  const shown = async (Until: string | null) => {
    const { ID } = await admin.createGrant({ body: { DataID: data.ID, UserName: "gus", Access: "read", Until } })
    assert.deepEqual([await readStatus(), String((await preview()).Admitted)], [200, "true"])
    await eventually("the file is shown", async () => (await reads()) === 200, promisedMs)
    return { ID, Until }
  }
  for (const way of ["revoked", "expired"]) {
    const { ID, Until } = await (way === "expired" ? withSoonExpiring(shown, 8_000) : shown(null))
    if (Until === null) await admin.deleteGrant({ query: { ID } })
    else await untilExpired(Until)
    assert.deepEqual([await readStatus(), String((await preview()).Reason?.code)], [404, "data_unavailable"], way)
    await soon("The file was hidden", hidden())
  }
})
