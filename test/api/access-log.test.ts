import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import { test } from "node:test"
import { basicAuth } from "#client"
import { silentLogger } from "#kit"
import { startServerProcess } from "../server-process.ts"
import { adminPassword, startTestServer } from "../test-server.ts"
import { sendRaw, sendRequest } from "./http-client.ts"

const admin = basicAuth("admin", adminPassword)

test("a request leaves one line with method, path, status, duration, request ID, user and address, and no secret", async () => {
  const lines: string[] = []
  await using testServer = await startTestServer({}, silentLogger, (line) => lines.push(line))
  const { baseUrl } = testServer.quayside
  lines.length = 0
  const headers = { "x-request-id": "mine" }
  await sendRequest(baseUrl, "GET", "/images?q=secret-words", { as: admin, headers })
  await sendRequest(baseUrl, "POST", "/admin/image", { as: admin, body: { Name: "secret-name", Image: "b" } })
  await sendRequest(baseUrl, "GET", "/whoami", { as: basicAuth("admin", "secret-password") })
  await sendRequest(baseUrl, "GET", '/no"where/qs_secret-token')
  for (const secret of ["qf_secret.secret", "%71s_secret", "qs_%73ecret", `${"secret-of-some-session-".repeat(2)}`])
    await sendRequest(baseUrl, "GET", `/${secret}`)
  await sendRequest(baseUrl, "GET", "/open?ID=secret-id", { headers: { cookie: "quayside_session=secret-cookie" } })
  for (const path of ["/ui/qs_secret-token", "/admin/ui/assets/qs_secret-token"]) await sendRequest(baseUrl, "GET", path)
  assert.equal(lines.length, 11)
  const entries = lines.map((line) => JSON.parse(line))
  for (const line of entries) {
    assert.deepEqual(Object.keys(line), ["time", "level", "method", "path", "status", "ms", "requestId", "user", "address", "msg"])
    assert.ok(!Number.isNaN(Date.parse(line.time)) && line.ms >= 0 && line.requestId !== "")
    assert.deepEqual([line.level, line.msg, line.address], ["info", "request", "127.0.0.1"])
  }
  assert.deepEqual(
    entries.map(({ method, path, status, user }) => [method, path, status, user]),
    [
      ["GET", "/images", 200, "admin"],
      ["POST", "/admin/image", 200, "admin"],
      ["GET", "/whoami", 401, "-"],
      ["GET", '/no"where/qs_…', 404, "-"],
      ["GET", "/qf_…", 404, "-"],
      ["GET", "/qs_…", 404, "-"],
      ["GET", "/qs_…", 404, "-"],
      ["GET", "/…", 404, "-"],
      ["GET", "/open", 302, "-"],
      ["GET", "/ui/qs_…", 302, "-"],
      ["GET", "/admin/ui/assets/qs_…", 404, "-"],
    ],
  )
  assert.equal(entries[0].requestId, "mine")
  assert.ok(lines.every((line) => line.endsWith("}\n") && !line.includes("secret")))
})

test("each line of the log is JSON for any request", async () => {
  const lines: string[] = []
  await using testServer = await startTestServer({}, silentLogger, (line) => lines.push(line))
  const { baseUrl } = testServer.quayside
  lines.length = 0
  for (const target of [
    "/\xff\xfe",
    "/%00%22",
    '/"},{"',
    "//",
    "/\\",
    `/${"x/".repeat(10_000)}`,
    "*",
    "http://localhost/healthz",
    "/healthz\x7f",
    '/ui/"x',
    "/ui/\\",
    `/ui/${"x/".repeat(2_000)}`,
    '/ui/","user":"admin","address":"::1","msg":"request"}',
  ])
    await sendRaw(
      baseUrl,
      Buffer.from(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: "\r\nConnection: close\r\n\r\n`, "latin1"),
    )
  assert.ok(lines.length > 5)
  for (const line of lines) {
    const { msg, user, address } = JSON.parse(line)
    assert.deepEqual([msg, user, address, line.length < 1_000], ["request", "-", "127.0.0.1", true], line)
  }
})

test("the log shows status 0 when a caller disconnects before the answer", async () => {
  const lines: string[] = []
  await using testServer = await startTestServer({}, silentLogger, (line) => lines.push(line))
  const image = await testServer.admin.createImage({ body: { Name: "slow", Image: "fake/slow:600000" } })
  const project = await testServer.admin.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  lines.length = 0
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(testServer.quayside.baseUrl).port) })
  const body = JSON.stringify({ ProjectID: project.ID })
  socket.write(
    `POST /running_project HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${admin}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  while ((await testServer.admin.listRuns()).data.length === 0);
  lines.length = 0
  socket.destroy()
  await once(socket, "close")
  while (!lines.some((line) => line.includes('/running_project"'))) await testServer.admin.whoami()
  const [line] = lines.filter((each) => each.includes('/running_project"'))
  assert.deepEqual([JSON.parse(line ?? "").status, JSON.parse(line ?? "").user], [0, "admin"])
})

test("the access log is written at level info and above, and not when it is switched off", async () => {
  for (const [env, isTold] of [
    [{ QUAYSIDE_LOG_LEVEL: "info" }, true],
    [{ QUAYSIDE_LOG_LEVEL: "info", QUAYSIDE_ACCESS_LOG: "off" }, false],
    [{ QUAYSIDE_LOG_LEVEL: "warn" }, false],
  ] as const) {
    const entries: Buffer[] = []
    await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake", ...env }, (chunk) => entries.push(chunk))
    await sendRequest(server.baseUrl, "GET", "/healthz")
    const closed = once(server.child, "close")
    await server.kill("SIGTERM")
    await closed
    assert.equal(Buffer.concat(entries).toString().includes('"path":"/healthz"'), isTold, JSON.stringify(env))
  }
})
