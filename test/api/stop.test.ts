import assert from "node:assert/strict"
import { once } from "node:events"
import { request } from "node:http"
import { connect } from "node:net"
import { test } from "node:test"
import { basicAuth } from "#client"
import { startServerProcess } from "../server-process.ts"
import { adminPassword, startTestServer } from "../test-server.ts"
import { sendRequest } from "./http-client.ts"

const admin = basicAuth("admin", adminPassword)

/** A POST with an unfinished body, which is pending until `finish`. */
async function startUnfinishedRequest(baseUrl: string) {
  const { port } = new URL(baseUrl)
  const body = JSON.stringify({ Name: "under way", Image: "a/b" })
  const headers = { authorization: admin, "content-type": "application/json", "content-length": String(body.length) }
  const outgoing = request({ host: "127.0.0.1", port, method: "POST", path: "/image", headers, agent: false })
  outgoing.write(body.slice(0, 5))
  await once(outgoing, "socket")
  return {
    async finish() {
      outgoing.end(body.slice(5))
      const [answer] = await once(outgoing, "response")
      answer.resume()
      return Number(answer.statusCode)
    },
  }
}

/** Resolves when the server counts this many pending requests, this one included. */
async function waitForActiveRequests(baseUrl: string, count: number): Promise<void> {
  for (;;) {
    const { text } = await sendRequest(baseUrl, "GET", "/metrics")
    if (text.includes(`quayside_http_requests_under_way ${count}\n`)) return
  }
}

test("stopping the server finishes active requests and answers new ones with 503", async () => {
  const testServer = await startTestServer()
  const { baseUrl } = testServer.quayside
  const { port } = new URL(baseUrl)
  const unfinished = await startUnfinishedRequest(baseUrl)
  await waitForActiveRequests(baseUrl, 2)
  const keepAlive = connect({ host: "127.0.0.1", port: Number(port) })
  keepAlive.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
  assert.match(String((await once(keepAlive, "data"))[0]), /^HTTP\/1\.1 200/)
  const stopped = testServer.quayside[Symbol.asyncDispose]()
  keepAlive.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
  assert.match(String((await once(keepAlive, "data"))[0]), /^HTTP\/1\.1 503/)
  const refused = await sendRequest(baseUrl, "GET", "/healthz")
  assert.deepEqual(
    [refused.status, refused.body.code, refused.headers["retry-after"], refused.headers.connection],
    [503, "unavailable", "5", "close"],
  )
  assert.equal(await unfinished.finish(), 200)
  await stopped
  await assert.rejects(sendRequest(baseUrl, "GET", "/healthz"), { code: "ECONNREFUSED" })
  await testServer[Symbol.asyncDispose]()
})

test("a waiting start is answered that the service stops, and its run continues", async () => {
  const testServer = await startTestServer()
  const { baseUrl } = testServer.quayside
  const image = await testServer.admin.createImage({ body: { Name: "never", Image: "fake/slow:600000" } })
  const project = await testServer.admin.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const waiting = sendRequest(baseUrl, "POST", "/running_project", { as: admin, body: { ProjectID: project.ID } })
  await waitForActiveRequests(baseUrl, 2)
  await testServer.quayside[Symbol.asyncDispose]()
  const answer = await waiting
  assert.deepEqual([answer.status, answer.body.code], [503, "unavailable"])
  await testServer.restart()
  const { data } = await testServer.admin.listRuns()
  assert.deepEqual(
    data.map((run) => run.ProjectID),
    [project.ID],
  )
  await testServer[Symbol.asyncDispose]()
})

test("a server that gets SIGTERM finishes active requests and exits with 0", async () => {
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake", QUAYSIDE_ADMIN_PASSWORD: adminPassword })
  const unfinished = await startUnfinishedRequest(server.baseUrl)
  await waitForActiveRequests(server.baseUrl, 2)
  const exited = once(server.child, "exit")
  server.child.kill("SIGTERM")
  while ((await sendRequest(server.baseUrl, "GET", "/healthz")).status !== 503);
  assert.equal(await unfinished.finish(), 200)
  assert.deepEqual(await exited, [0, null])
})
