import assert from "node:assert/strict"
import { once } from "node:events"
import { readdirSync } from "node:fs"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { after, before, describe, test } from "node:test"
import { basicAuth } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { IdleConnections } from "../fixtures/idle-connections.ts"
import { type ServerProcess, startServerProcess } from "../server-process.ts"
import { startTestServer } from "../test-server.ts"

/** The attacker's address; everybody else uses 127.0.0.1. */
const attacker = "127.0.0.2"
const crowdSize = 3_000
const descriptors = 1_024

const portOf = (url: string) => Number(new URL(url).port)

/** The status of one request, over a connection of its own or of the agent. */
function send(url: string, path: string, options: { as?: string; agent?: Agent } = {}): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = options.as === undefined ? {} : { authorization: options.as }
  const sent = request({ host: "127.0.0.1", port: portOf(url), path, headers, agent: options.agent ?? false }, (response) => {
    response.resume().on("end", () => resolve(response.statusCode ?? 0))
  })
  sent.on("error", reject).end()
  return promise
}

/** No bytes, an endless head, and a body that never arrives. */
const slow = (i: number) =>
  [
    "",
    "GET / HTTP/1.1\r\nHost: local",
    "POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{",
  ][i % 3] as string

describe(`with ${descriptors} descriptors and ${crowdSize} connections of one address`, () => {
  let server: ServerProcess
  before(async () => {
    server = await startServerProcess({ QUAYSIDE_ENGINE: "fake", QUAYSIDE_LOG_LEVEL: "error" }, undefined, { maxDescriptors: descriptors })
  })
  after(() => server[Symbol.asyncDispose]())

  const endpoints: [name: string, url: () => string, path: string, authenticated: number, unauthenticated: number][] = [
    ["API", () => server.baseUrl, "/whoami", 200, 401],
    ["gateway", () => server.appsUrl, "/run/1/", 404, 401],
    ["files", () => server.filesUrl, "/users/admin/missing", 404, 401],
  ]
  for (const [name, url, path, authenticated, unauthenticated] of endpoints) {
    test(`the ${name} answers other addresses, and keeps the connections of signed-in people`, async () => {
      const as = basicAuth("admin", server.password)
      using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), { [Symbol.dispose]: () => agent.destroy() })
      assert.equal(await send(url(), path, { as, agent }), authenticated)
      const remaining = [...Object.values(agent.freeSockets)].flat()[0]
      using crowd = new IdleConnections({ port: portOf(url()), from: attacker, say: slow })
      await crowd.add(crowdSize)
      for (let round = 0; round < 5; round += 1) {
        await crowd.add(100)
        const statuses = [await send(url(), path), await send(url(), path, { as }), await send(url(), path, { as, agent })]
        assert.deepEqual(statuses, [unauthenticated, authenticated, authenticated])
      }
      assert.equal([...Object.values(agent.freeSockets)].flat()[0], remaining, "the person still has the same connection")
      const used = readdirSync(`/proc/${server.child.pid}/fd`).length
      assert.ok(used <= (descriptors * 3) / 4, `${used} descriptors are used`)
    })
  }

  test("a crowd of complete requests at all three addresses at once blocks nobody", async () => {
    const requestText = () => "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    const crowds = endpoints.map(([, url]) => new IdleConnections({ port: portOf(url()), from: attacker, say: requestText }))
    await Promise.all(crowds.map((crowd) => crowd.add(crowdSize / 3)))
    const as = basicAuth("admin", server.password)
    for (const [, url, path, authenticated, unauthenticated] of endpoints) {
      assert.deepEqual([await send(url(), path), await send(url(), path, { as })], [unauthenticated, authenticated])
    }
    for (const crowd of crowds) crowd[Symbol.dispose]()
  })
})

/**
 * Sends the text and then surplus bytes until the server stops reading. Returns the response and
 * their number.
 */
async function push(port: number, head: string, bytes: number): Promise<{ answer: string; taken: number }> {
  const socket = connect({ host: "127.0.0.1", port })
  let answer = ""
  socket.setEncoding("latin1").on("data", (text) => {
    answer += text
  })
  socket.on("error", () => {})
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
  socket.write(head)
  const block = Buffer.alloc(65_536, 120)
  for (let sent = 0; sent < bytes && !socket.destroyed; sent += block.length) {
    if (!socket.write(block)) await Promise.race([closed, once(socket, "drain").catch(() => {})])
  }
  await closed
  return { answer, taken: socket.bytesWritten - socket.writableLength }
}

const json = "Host: localhost\r\nContent-Type: application/json\r\n"

describe("a request body before authentication", () => {
  test("returns 413 and closes the connection beyond 4 KiB, with or without Content-Length", async () => {
    await using testServer = await startTestServer()
    const port = portOf(testServer.quayside.baseUrl)
    const withLength = await push(port, `POST /session HTTP/1.1\r\n${json}Content-Length: 4097\r\n\r\n`, 0)
    const chunked = await push(port, `POST /session HTTP/1.1\r\n${json}Transfer-Encoding: chunked\r\n\r\n10000\r\n`, 65_536)
    for (const { answer } of [withLength, chunked]) assert.match(answer, /^HTTP\/1.1 413 .*connection: close.*"too_large"/is)
    const body = JSON.stringify({ UserName: "admin", Password: "\u00e9".repeat(512) })
    const { answer } = await push(
      port,
      `POST /session HTTP/1.1\r\n${json}Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      0,
    )
    assert.match(answer, /^HTTP\/1.1 401 /, "the longest password fits")
  })

  test("returns 408 and closes the connection when it does not arrive", async () => {
    await using testServer = await startTestServer()
    const port = portOf(testServer.quayside.baseUrl)
    const { answer } = await push(port, `POST /session HTTP/1.1\r\n${json}Content-Length: 4000\r\n\r\n{`, 0)
    assert.match(answer, /^HTTP\/1.1 408 .*connection: close/is)
  })

  test("is not read to its end without valid credentials, at the API and at the files address", async () => {
    await using testServer = await startTestServer()
    const size = 64 * 2 ** 20
    const asks: [string, string][] = [
      [testServer.quayside.baseUrl, `POST /image HTTP/1.1\r\n${json}`],
      [testServer.quayside.baseUrl, `POST /image HTTP/1.1\r\n${json}Authorization: Bearer qs_${"x".repeat(43)}\r\n`],
      [testServer.quayside.baseUrl, `POST /nothing HTTP/1.1\r\n${json}`],
      [testServer.quayside.filesUrl, `PUT /users/admin/x HTTP/1.1\r\n${json}`],
      [testServer.quayside.appsUrl, `POST /run/1/ HTTP/1.1\r\n${json}`],
    ]
    for (const [url, head] of asks) {
      const { answer, taken } = await push(portOf(url), `${head}Content-Length: ${size}\r\n\r\n`, size)
      assert.match(answer, /^HTTP\/1.1 40[14] .*connection: close/is, head)
      assert.ok(taken < size / 2, `${taken} bytes were taken: ${head}`)
    }
  })
})

test("behind a trusted proxy an active request counts for the forwarded address, not for the proxy", async () => {
  await using testServer = await startTestServer({ "trusted-proxies": "127.0.0.1", "max-connections-per-address": "10" })
  const port = portOf(testServer.quayside.baseUrl)
  const asking = (address: string) => `POST /session HTTP/1.1\r\n${json}X-Forwarded-For: ${address}\r\nContent-Length: 4000\r\n\r\n{`
  using many = new IdleConnections({ port, from: "127.0.0.1", say: (i) => asking(`198.51.100.${i}`) })
  using one = new IdleConnections({ port, from: "127.0.0.1", say: () => asking("203.0.113.1") })
  await many.add(50)
  await one.add(50)
  await eventually("one address has its share", () => one.open === 10)
  assert.equal(many.open, 50)
})

test("an event stream counts as a connection of its person, and only that person gets 429 beyond the limit", async () => {
  await using testServer = await startTestServer({ "max-connections-per-person": "10" })
  const [ann, bob] = [await testServer.person("ann"), await testServer.person("bob")]
  const { baseUrl } = testServer.quayside
  const requestText = () => `GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${ann.authorization}\r\n\r\n`
  const readers = new IdleConnections({ port: portOf(baseUrl), from: "127.0.0.1", say: requestText })
  await readers.add(10)
  await eventually("no more than ten", async () => (await send(baseUrl, "/whoami", { as: ann.authorization })) === 429)
  assert.equal(readers.open, 10)
  assert.equal(await send(baseUrl, "/whoami", { as: bob.authorization }), 200)
  readers[Symbol.dispose]()
  await eventually("there is room again", async () => (await send(baseUrl, "/whoami", { as: ann.authorization })) === 200)
})
