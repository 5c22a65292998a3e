import assert from "node:assert/strict"
import { once } from "node:events"
import { type AddressInfo, connect, type Socket } from "node:net"
import { type TestContext, test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { assignConnection, ConnectionLimiter, createHttpServer, RequestTurns, TrustedProxies } from "#http"
import { eventually } from "../../../test/fixtures/eventually.ts"

const maxima = { maxAnonymous: 400, maxPerAddress: 400, maxAuthenticated: 400, maxPerPerson: 400 }
const count = 300
const proxy = "127.0.0.4"

/** A server that answers at once, and the paths in the order in which it handled them. */
async function withServer(t: TestContext) {
  const handled: string[] = []
  const server = createHttpServer({
    handler: (request, response) => {
      handled.push(request.url ?? "")
      const person = Number(request.headers.authorization)
      if (person) assignConnection(request.socket, person)
      response.end()
    },
    upgrade: ({ request, response }) => {
      handled.push(request.url ?? "")
      response.end()
    },
    parseErrors: { maxHeadBytes: 16_384, longChunkExtensions: "invalid", headers: {} },
    requestTimeoutMs: 0,
    personOf: (request) => Number(request.headers.authorization) || undefined,
    connections: new ConnectionLimiter({ ...maxima, proxies: new TrustedProxies([proxy]) }),
  })
  await once(server.listen(0, "0.0.0.0"), "listening")
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port, host: "127.0.0.1", localAddress }).on("error", () => {})
    await Promise.all([once(socket, "connect"), once(server, "connection")])
    return socket.resume()
  }
  return { handled, open }
}

function send(socket: Socket, path: string, headers = ""): void {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`)
}

const crowds: [name: string, crowd: { from: string; headers?: string }, other: { from: string; headers?: string }][] = [
  ["an address", { from: "127.0.0.2" }, { from: "127.0.0.3" }],
  ["a person", { from: "127.0.0.2", headers: "Authorization: 7\r\n" }, { from: "127.0.0.2", headers: "Authorization: 8\r\n" }],
  ["somebody else of its address", { from: proxy }, { from: proxy, headers: "Authorization: 8\r\n" }],
  [
    "an address behind a proxy",
    { from: proxy, headers: "X-Forwarded-For: 10.0.0.1\r\n" },
    { from: proxy, headers: "X-Forwarded-For: 10.0.0.2\r\n" },
  ],
]
for (const [name, crowd, other] of crowds) {
  test(`a request is handled before most of those that ${name} sends on ${count} connections at once`, async (t) => {
    const { handled, open } = await withServer(t)
    const sockets = []
    for (let i = 0; i < count; i += 1) sockets.push(await open(crowd.from))
    const late = await open(other.from)
    const all = [...sockets.map((socket) => ({ socket, ...crowd })), { socket: late, ...other }]
    // Each connection counts for its person from its first request on.
    for (const { socket, headers } of all) send(socket, "/first", headers)
    await eventually("all first requests are handled", () => handled.length === count + 1)
    handled.length = 0
    for (const { socket, headers } of all) send(socket, socket === late ? "/late" : "/crowd", headers)
    await eventually("all requests are handled", () => handled.length === count + 1)
    assert.ok(handled.indexOf("/late") < count / 2, `handled after ${handled.indexOf("/late")}`)
  })
}

test("a request is handled before most of those for another protocol that an address sends at once", async (t) => {
  const { handled, open } = await withServer(t)
  const sockets = []
  for (let i = 0; i < count; i += 1) sockets.push(await open("127.0.0.2"))
  const late = await open("127.0.0.3")
  for (const socket of sockets) send(socket, "/crowd", "Connection: Upgrade\r\nUpgrade: websocket\r\n")
  send(late, "/late")
  await eventually("all requests are handled", () => handled.length === count + 1)
  assert.ok(handled.indexOf("/late") < count / 2, `handled after ${handled.indexOf("/late")}`)
})

test("requests that wait for their turn are handled in their order", async (t) => {
  const { handled, open } = await withServer(t)
  const sockets: Socket[] = []
  for (let i = 0; i < count; i += 1) sockets.push(await open("127.0.0.2"))
  for (const [i, socket] of sockets.entries()) send(socket, `/${i}`)
  await eventually("all are handled", () => handled.length === count)
  assert.deepEqual(
    handled,
    sockets.map((_, i) => `/${i}`),
  )
})

const person = 7
const costMs = 0.6

/** Requests that each take time, most of it after they have waited for what is there already. */
function costlyRequests() {
  let ms = 0
  const begun: number[] = []
  const turns = new RequestTurns(() => ms)
  const request = (name: number) => async () => {
    begun.push(name)
    await Promise.resolve()
    ms += costMs
  }
  return { begun, send: (name: number, key = person) => turns.run(key, request(name)) }
}

test("costly requests of a person that come together begin in several turns, in their order", async () => {
  const { begun, send } = costlyRequests()
  // Each comes in a callback of its own, as those of several connections do.
  const sending = [1, 2, 3, 4, 5, 6].map(async (name) => {
    await turn()
    send(name)
  })
  await Promise.all(sending)
  assert.deepEqual(begun, [1, 2])
  const others = 9
  send(100, others)
  assert.deepEqual(begun, [1, 2, 100])
  for (let n = 0; n < 8; n += 1) await turn()
  assert.deepEqual(begun, [1, 2, 100, 3, 4, 5, 6])
})

test("a request that comes while others of its sender wait begins after them", async () => {
  const { begun, send } = costlyRequests()
  await Promise.all(
    [1, 2, 3, 4].map(async (name) => {
      await turn()
      send(name)
    }),
  )
  await turn()
  send(5)
  for (let n = 0; n < 8; n += 1) await turn()
  assert.deepEqual(begun, [1, 2, 3, 4, 5])
})

test("no more of a person's requests that wait begin in a turn than take its time", async () => {
  const { begun, send } = costlyRequests()
  for (let name = 0; name < 200; name += 1) send(name)
  const counts: number[] = []
  for (let n = 0; n < 6; n += 1) {
    const before = begun.length
    await turn()
    counts.push(begun.length - before)
  }
  assert.equal(counts[0], 0, String(counts))
  assert.ok(
    counts.slice(1).every((count) => count <= 2),
    String(counts),
  )
})
