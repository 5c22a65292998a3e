import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { type TestContext, test } from "node:test"
import { bounds } from "#contract"
import { assignConnection, ConnectionLimiter, createHttpServer, TrustedProxies } from "#http"
import { eventually } from "../../../test/fixtures/eventually.ts"

const maxima = { maxAnonymous: 100, maxPerAddress: 100, maxAuthenticated: 100, maxPerPerson: 100 }
const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
const waitingOfEach = 90
/** As many connections have room for their waiting requests. */
const fitting = Math.floor(bounds.http.waitingRequests.value / waitingOfEach)

/** A server that answers nothing. `send` opens connections on each of which requests wait. */
async function withServer(t: TestContext) {
  const begun: ServerResponse[] = []
  const connections = new ConnectionLimiter({ ...maxima, proxies: new TrustedProxies([]) })
  const server = createHttpServer({
    handler: (_, response) => begun.push(response),
    parseErrors: { maxHeadBytes: 16_384, longChunkExtensions: "invalid", headers: {} },
    requestTimeoutMs: 0,
    connections,
  })
  await once(server.listen(0, "0.0.0.0"), "listening")
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const send = (localAddress: string, count: number) => {
    for (let n = 0; n < count; n += 1) {
      const socket = connect({ port, host: "127.0.0.1", localAddress }).on("error", () => {})
      socket.resume().write(request.repeat(1 + waitingOfEach))
      sockets.push(socket)
    }
  }
  const closed = () => sockets.filter((socket) => socket.closed).length
  const leave = async () => {
    for (const socket of sockets) socket.destroy()
    await eventually("nothing waits any more", () => connections.waitingRequests.size === 0)
  }
  return { begun, connections, send, closed, leave }
}

test("the requests that wait on all connections of an address are limited", async (t) => {
  const { connections, send, closed, leave } = await withServer(t)
  send("127.0.0.2", fitting + 10)
  await eventually("those beyond it are closed", () => closed() === 10)
  await eventually("the others wait", () => connections.waitingRequests.get("127.0.0.2") === fitting * waitingOfEach)
  await leave()
})

test("requests that waited for their addresses count for the person who is authenticated there", async (t) => {
  const { begun, connections, send, closed, leave } = await withServer(t)
  const addresses = ["127.0.0.2", "127.0.0.3"]
  for (const address of addresses) send(address, fitting)
  const wait = (key: string | number) => connections.waitingRequests.get(key) === fitting * waitingOfEach
  await eventually("all wait", () => begun.length === 2 * fitting && addresses.every(wait))
  for (const { req } of begun) assignConnection(req.socket, 7)
  await eventually("those beyond a person's limit are closed", () => closed() === fitting && wait(7))
  await leave()
})
