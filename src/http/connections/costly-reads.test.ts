import assert from "node:assert/strict"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { test } from "node:test"
import { setImmediate as nextTurn } from "node:timers/promises"
import { assignConnection, ConnectionLimiter, createHttpServer, type RequestHandler, TrustedProxies } from "#http"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { CostlyReads } from "./costly-reads.ts"

const maxima = { maxAnonymous: 100, maxPerAddress: 100, maxAuthenticated: 100, maxPerPerson: 100 }
const count = 5

/** The turns of the event loop in which a request of each connection arrives. */
async function turnsOf(bytes: string, handler: RequestHandler): Promise<number[]> {
  let turn = 0
  let isOver = false
  const countTurns = () => {
    turn += 1
    if (!isOver) setImmediate(countTurns)
  }
  const turns: number[] = []
  const onRequest: RequestHandler = (request, response) => {
    turns.push(turn)
    handler(request, response)
  }
  const server = createHttpServer({
    handler: onRequest,
    upgrade: ({ request, response }) => onRequest(request, response),
    parseErrors: { maxHeadBytes: 16_384, longChunkExtensions: "invalid", headers: {} },
    requestTimeoutMs: 0,
    connections: new ConnectionLimiter({ ...maxima, proxies: new TrustedProxies([]) }),
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const sockets: Socket[] = []
  for (let i = 0; i < count; i += 1) {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
    sockets.push(socket.on("error", () => {}))
    await Promise.all([once(socket, "connect"), once(server, "connection")])
  }
  await nextTurn()
  countTurns()
  for (const socket of sockets) socket.write(bytes)
  while (turns.length < count) await nextTurn()
  isOver = true
  for (const socket of sockets) socket.destroy()
  server.closeAllConnections()
  server.close()
  return turns
}

const chunked = `POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(2_000)}`
const manyFields = `GET / HTTP/1.1\r\nHost: localhost\r\n${"a:b\r\n".repeat(200)}`
const attacks: [name: string, bytes: string, handler: RequestHandler][] = [
  ["bodies in chunks of one byte", chunked, (request) => request.resume()],
  ["such bodies of one person", chunked, (request) => assignConnection(request.socket, 7) && request.resume()],
  ["such bodies of requests that are answered at once", chunked, (_request, response) => response.end()],
  ["pipelined requests", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(500), () => {}],
  ["requests with hundreds of header fields", `${manyFields}\r\n`, () => {}],
  ["such requests for WebSockets", `${manyFields}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`, () => {}],
]
for (const [name, bytes, handler] of attacks) {
  test(`${name} of many connections are parsed in as many turns of the event loop`, async () => {
    const turns = await turnsOf(bytes, handler)
    assert.equal(new Set(turns).size, count, `turns ${turns}`)
  })
}

test("paused connections read on one by one while reads are costly, and then all at once", async () => {
  const reads = new CostlyReads<string>()
  const resumed: number[] = []
  const connections = [0, 1, 2, 3].map((i) => ({ pauseReading: () => {}, resumeReading: () => void resumed.push(i) }))
  reads.pause("ann", connections)
  await nextTurn()
  assert.deepEqual(resumed, [0])
  reads.pause("ann", [])
  await nextTurn()
  assert.deepEqual(resumed, [0, 1])
  await nextTurn()
  assert.deepEqual(resumed, [0, 1, 2, 3])
})

test("a body that nobody reads grows no further while other connections have costly reads", async (t) => {
  const waiting: IncomingMessage[] = []
  const server = createHttpServer({
    handler: (request) => (request.url === "/unread" ? waiting.push(request) : request.resume()),
    parseErrors: { maxHeadBytes: 16_384, longChunkExtensions: "invalid", headers: {} },
    requestTimeoutMs: 0,
    connections: new ConnectionLimiter({ ...maxima, proxies: new TrustedProxies([]) }),
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const { port } = server.address() as AddressInfo
  const [unread, costly] = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")]
  unread.on("error", () => {})
  t.after(() => {
    for (const socket of [unread, costly]) socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  unread.write(`POST /unread HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${2 ** 26}\r\n\r\n`)
  unread.write(Buffer.alloc(2 ** 25))
  const head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
  costly.write(head)
  const heldBytes = () => waiting[0]?.readableLength ?? 0
  await eventually("the body waits", () => heldBytes() > 0)
  for (let i = 0; i < 50; i += 1) {
    costly.write("1\r\nx\r\n".repeat(2_000))
    for (let turn = 0; turn < 20; turn += 1) await nextTurn()
  }
  assert.ok(heldBytes() < 2 ** 18, `${heldBytes()} bytes`)
})
