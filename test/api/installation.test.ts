import assert from "node:assert/strict"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { after, test } from "node:test"
import { basicAuth } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { adminPassword, startTestServer } from "../test-server.ts"
import { type AnyObject, type SendOptions, sendRequest } from "./http-client.ts"

const server = await startTestServer({ "mock-gpus": "1" })
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const ann = await server.person("ann")
const call = (method: string, path: string, options: SendOptions = {}) => sendRequest(baseUrl, method, path, { as: admin, ...options })

test("healthz reports liveness, and readyz each part", async () => {
  assert.deepEqual((await call("GET", "/healthz")).body, { ok: true })
  const ready = await call("GET", "/readyz")
  // Only where other processes may supervise runs does a check tell whether any does.
  const parts = ["store", "engine", "files", ...(process.env.TEST_POSTGRES ? ["supervision"] : [])]
  assert.deepEqual([ready.status, ready.body.ok, Object.keys(ready.body.checks as AnyObject)], [200, true, parts])
})

test("administrators read the settings in force, and no secret", async () => {
  const read = await call("GET", "/settings")
  const settings = read.body.settings as unknown as { Name: string; Value: string; IsDefault: boolean }[]
  const shownOf = (name: string) => {
    const { Value, IsDefault } = settings.find(({ Name }) => Name === name) ?? {}
    return [Value, IsDefault]
  }
  assert.deepEqual(shownOf("QUAYSIDE_MOCK_GPUS"), ["1", false])
  assert.deepEqual(shownOf("QUAYSIDE_DEFAULT_CPUS"), ["1", true])
  assert.deepEqual(shownOf("QUAYSIDE_ADMIN_PASSWORD"), ["(hidden)", false])
  assert.deepEqual(shownOf("QUAYSIDE_OIDC_CLIENT_SECRET"), ["", true])
  assert.ok(!read.text.includes(adminPassword))
  assert.equal((await call("GET", "/settings", { as: ann.authorization })).status, 403)
})

test("metrics are OpenMetrics text for loopback callers and administrators, without users' content", async () => {
  await call("POST", "/image", { body: { Name: "secret name", Image: "b" } })
  await call("GET", "/images?q=secret")
  await call("GET", "/secret")
  const answer = await sendRequest(baseUrl, "GET", "/metrics")
  assert.match(String(answer.headers["content-type"]), /^application\/openmetrics-text/)
  assert.ok(answer.text.endsWith("# EOF\n") && !answer.text.includes("secret"))
  assert.match(answer.text, /^quayside_http_requests_total\{operation="createImage",status="200"\} \d+$/m)
  assert.match(answer.text, /^quayside_http_requests_total\{operation="unknown",status="404"\} \d+$/m)
  const names = answer.text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))
  for (const line of names) assert.match(line, /^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [\d.e+-]+$/)
  const forwarded = { headers: { "x-forwarded-for": "203.0.113.9" } }
  assert.equal(
    (await sendRequest(baseUrl, "GET", "/metrics", forwarded)).status,
    401,
    "what was forwarded from elsewhere is not from this machine",
  )
  assert.equal((await call("GET", "/metrics", { as: ann.authorization, ...forwarded })).status, 403)
  assert.equal((await call("GET", "/metrics", { as: ann.authorization })).status, 200, "every loopback caller reads metrics")
  assert.equal((await call("GET", "/metrics", forwarded)).status, 200)
})

test("metrics count a request whose caller leaves before the whole answer as 499, never as 200", async () => {
  const status = (text: string, operation: string, code: number) =>
    Number(new RegExp(`^quayside_http_requests_total\\{operation="${operation}",status="${code}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0)
  const doc = "x".repeat(250_000)
  const image = await call("POST", "/image", { body: { Name: "i", Image: "i" } })
  const body = { ProjectName: "large", Type: "http", ImageID: image.body.ID, Doc: doc }
  for (let n = 0; n < 80; n += 1) await call("POST", "/project", { body })
  const before = (await sendRequest(baseUrl, "GET", "/metrics")).text
  const { port } = new URL(baseUrl)
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: ${admin}\r\n\r\n`
  const sockets = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const socket = connect({ host: "127.0.0.1", port: Number(port) })
      socket.on("error", () => {})
      socket.write(get("/projects?pageSize=200"))
      await once(socket, "readable")
      return socket
    }),
  )
  for (const socket of sockets) socket.destroy()
  let after = before
  await eventually("three requests more are counted as cut short", async () => {
    after = (await sendRequest(baseUrl, "GET", "/metrics")).text
    return status(after, "listProjects", 499) === 3
  })
  assert.equal(status(after, "listProjects", 200), status(before, "listProjects", 200))
})

test("administrators list audited changes with actor, resource, address and request, by filters", async () => {
  const created = await call("POST", "/image", {
    as: ann.authorization,
    body: { Name: "a", Image: "b" },
    headers: { "x-request-id": "audited" },
  })
  const { body } = await call("GET", "/audit?UserName=ann&Action=image.created")
  const [entry] = body.data as unknown as AnyObject[]
  const { ID: _id, Time, ...rest } = entry as AnyObject
  assert.deepEqual(rest, {
    Actor: "ann",
    Action: "image.created",
    Thing: { Type: "image", ID: created.body.ID },
    Outcome: "done",
    Address: "127.0.0.1",
    RequestID: "audited",
    Count: 1,
  })
  const at = encodeURIComponent(String(Time))
  assert.equal((await call("GET", `/audit?UserName=ann&Action=image.created&from=${at}&to=${at}`)).body.pageCount, 1)
  assert.equal((await call("GET", "/audit?from=2999-01-01T00:00:00Z")).body.pageCount, 0)
  assert.equal((await call("GET", "/audit?from=yesterday")).body.field, "from")
  assert.equal((await call("GET", "/audit", { as: ann.authorization })).status, 403)
})

test("the docs page loads nothing from other origins, and lists every path", async () => {
  const page = await sendRequest(baseUrl, "GET", "/docs")
  assert.match(String(page.headers["content-type"]), /^text\/html/)
  assert.match(String(page.headers["content-security-policy"]), /default-src 'none'/)
  assert.ok(!/(src|href)="(https?:)?\/\//.test(page.text) && !page.text.includes("<script"))
  const { paths } = (await call("GET", "/openapi.json")).body
  for (const path of Object.keys(paths as AnyObject)) assert.ok(page.text.includes(path), path)
})

test("the description is OpenAPI 3.1 made from the contract", async () => {
  const { body } = await call("GET", "/openapi.json")
  assert.equal(body.openapi, "3.1.0")
  assert.ok("/running_project" in (body.paths as AnyObject))
})

test("a server that requires NVIDIA GPUs does not start with simulated ones or without Docker", async () => {
  for (const [more, other] of [
    [{ "mock-gpus": "1" }, "QUAYSIDE_MOCK_GPUS=1"],
    [{}, "QUAYSIDE_ENGINE=fake"],
  ] as const) {
    const message = `QUAYSIDE_GPUS=nvidia requires real GPUs, and ${other} has none: remove one of the two settings`
    await assert.rejects(async () => startTestServer({ gpus: "nvidia", ...more }), { name: "SettingError", message })
  }
})

test("capacity reports the total and free resources of nodes", async () => {
  const { body } = await call("GET", "/capacity", { as: ann.authorization })
  const [node] = body.nodes as unknown as AnyObject[]
  assert.deepEqual(Object.keys(node as AnyObject), ["Name", "Cpus", "Memory", "Gpus", "Devices"])
  assert.deepEqual(node?.Gpus, { total: 1, free: 1 })
  assert.deepEqual(Object.keys(node?.Devices?.[0] as AnyObject), ["ID", "Model", "Memory", "RunID"])
  assert.deepEqual(body.you, { Cpus: null, Memory: null, Gpus: null })
})

test("`/` redirects a browser to the web UI, or without a session to the sign-in page", async () => {
  assert.equal((await sendRequest(baseUrl, "GET", "/")).headers.location, "/ui/")
  assert.equal((await sendRequest(baseUrl, "GET", "/ui/")).headers.location, "/ui/sign-in")
  const open = await sendRequest(baseUrl, "GET", "/open?ID=5")
  assert.deepEqual([open.status, open.headers.location], [302, `/ui/sign-in?next=${encodeURIComponent("/open?ID=5")}`])
})

async function cookieOf(UserName: string, Password: string): Promise<string> {
  const { headers } = await sendRequest(baseUrl, "POST", "/session", { body: { UserName, Password } })
  return String(String(headers["set-cookie"]).split(";")[0])
}

test("open gives the same answer for any ID that the caller may not open", async () => {
  const headers = { cookie: await cookieOf("ann", ann.password) }
  const image = await server.admin.createImage({ body: { Name: "i", Image: "fake/http" } })
  const project = await server.admin.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const run = await server.admin.startRun({ body: { ProjectID: project.ID } })
  const pages = await Promise.all(
    [String(run.ID), "99999", "x", ""].map((id) => sendRequest(baseUrl, "GET", `/open?ID=${id}`, { headers })),
  )
  for (const page of pages) assert.deepEqual([page.status, { ...page.body, requestId: "" }], [404, { ...pages[0]?.body, requestId: "" }])
  assert.equal(pages[0]?.body.code, "not_found")
  await server.admin.stopRun({ query: { ID: run.ID } })
})

test("open shows why a run ended to people who may open it", async () => {
  const headers = { cookie: await cookieOf("admin", adminPassword), accept: "text/html" }
  const image = await server.admin.createImage({ body: { Name: "gone", Image: "fake/missing" } })
  const project = await server.admin.createProject({ body: { ProjectName: "gone", Type: "http", ImageID: image.ID } })
  const failed = await sendRequest(baseUrl, "POST", "/running_project", {
    as: basicAuth("admin", adminPassword),
    body: { ProjectID: project.ID },
  })
  const { ID, Reason } = failed.body as unknown as { ID: number; Reason: { msg: string } }
  const page = await sendRequest(baseUrl, "GET", `/open?ID=${ID}`, { headers })
  assert.equal(page.status, 404)
  assert.match(page.text, /This run failed/)
  assert.ok(page.text.includes(Reason.msg), page.text)
})

test("browsers get failures as pages and programs as JSON, except at operations", async () => {
  const html = { accept: "text/html,application/xhtml+xml" }
  const nothing = await sendRequest(baseUrl, "GET", "/nothing<script>", { headers: html })
  assert.deepEqual([nothing.status, nothing.headers["content-type"]], [404, "text/html; charset=utf-8"])
  assert.match(nothing.text, /There is nothing here/)
  assert.ok(!nothing.text.includes("<script>") && nothing.headers["content-security-policy"])
  assert.equal((await sendRequest(baseUrl, "GET", "/oidc/login", { headers: html })).headers["content-type"], "text/html; charset=utf-8")
  for (const path of ["/nothing", "/oidc/login"]) assert.equal((await call("GET", path)).body.code, "not_found")
  assert.equal((await sendRequest(baseUrl, "GET", "/image?ID=99999", { headers: html })).body.code, "unauthorized")
})

test("no secret is written where it can be read by others", {
  skip: process.env.TEST_POSTGRES !== undefined && "a file of SQLite's",
}, () => {
  const file = readFileSync(join(server.dataDir, "quayside.db")).toString("latin1")
  assert.ok(!file.includes(adminPassword) && !file.includes(ann.password) && !file.includes(ann.authorization.slice("Bearer ".length)))
})

test("the audit counts refusals by actor, action and minute, and unknown names are not actors", async () => {
  // Writes the pending refusals of other tests.
  await server.restart()
  const since = encodeURIComponent(new Date().toISOString())
  for (let i = 0; i < 3; i += 1) await call("GET", "/audit", { as: ann.authorization })
  for (const name of ["nobody-1", "nobody-2", "ann"]) await call("GET", "/whoami", { as: basicAuth(name, "a wrong password") })
  await call("POST", "/session", { body: { UserName: "nobody-3", Password: "a wrong password" } })
  await server.restart()
  const auditedCounts = async (query: string) => {
    const { body } = await call("GET", `/audit?from=${since}&pageSize=200&${query}`)
    const rows = (body.data as unknown as AnyObject[]).filter((row) => (row.Outcome as unknown) === "refused")
    return rows.map(({ Actor, Action, Thing, Count, Address }) => [Actor, Action, Thing, Count, Address])
  }
  const sum = (rows: unknown[][]) => rows.reduce((total, [, , , count]) => total + (count as number), 0)
  const anns = await auditedCounts("UserName=ann&Action=listAudit")
  assert.equal(sum(anns), 3)
  assert.ok(anns.length <= 2, "one row, or two where a minute ended in between")
  assert.deepEqual(anns[0]?.slice(0, 3), ["ann", "listAudit", null])
  assert.equal(sum(await auditedCounts("UserName=-&Action=whoami")), 3, "a wrong password proves nobody")
  assert.equal(sum(await auditedCounts("UserName=-&Action=createSession")), 1)
  const { text } = await call("GET", "/audit?pageSize=200")
  assert.ok(!text.includes("nobody-") && !text.includes("a wrong password"))
})
