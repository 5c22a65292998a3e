import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { type TestContext, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { ConnectionRegistry } from "../sessions/connection-registry.ts"
import { echo, type FixtureRequest, GatewayFixture, TestProgram } from "../testing/gateway-fixture.ts"
import { WaitingWrites } from "../upstream/waiting-writes.ts"

const headers = "Host: localhost\r\nAuthorization: Bearer ann\r\n"

/** A program that answers with more than anybody's buffers hold, and reads no bodies. */
const largeAnswer = () => new TestProgram((_, response) => response.writeHead(200).end(Buffer.alloc(2 ** 26)))
/** One read of the gateway holds it. */
const shortAnswer = () => new TestProgram((_, response) => response.writeHead(200, { "content-length": 60_000 }).end(Buffer.alloc(60_000)))
const endlessHead = () => new TestProgram((request) => request.socket.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(60_000)}`))
const unreadBody = () => new TestProgram(() => {})

const get = `GET /run/1/ HTTP/1.1\r\n${headers}\r\n`
const cases = {
  "an answer": { open: largeAnswer, head: get, does: "receive" },
  "the end of an answer": { open: shortAnswer, head: get.repeat(90), does: "receive" },
  "the rest of a head": { open: endlessHead, head: get, does: "wait" },
  "what follows a request for a WebSocket": {
    open: () => {
      const program = new TestProgram()
      program.server.removeAllListeners("upgrade").on("upgrade", () => {})
      return program
    },
    head: `GET /run/1/ HTTP/1.1\r\n${headers}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    does: "send",
  },
  "a body": { open: unreadBody, head: `POST /run/1/ HTTP/1.1\r\n${headers}Content-Length: ${2 ** 30}\r\n\r\n`, does: "send" },
}

for (const [what, { open, head, does }] of Object.entries(cases)) {
  test(`beyond the maximum of a person, the connection is closed that waits longest for ${what} to be read`, {
    timeout: 30_000,
  }, async (t) => {
    await using program = open()
    await using fixture = await GatewayFixture.open({ program, maxWaitingPerPerson: 2 })
    const begin = async (): Promise<Socket> => {
      const socket = connect(fixture.port, "127.0.0.1").on("error", () => {})
      socket.write(head)
      await pause(50)
      if (does === "send") for (let i = 0; i < 512; i += 1) socket.write(Buffer.alloc(65_536))
      if (does === "receive") await once(socket, "readable")
      return socket
    }
    const waits = t.mock.method(ConnectionRegistry.prototype, "setWaiting").mock
    const sockets: Socket[] = []
    for (let count = 1; count <= 3; count += 1) {
      sockets.push(await begin())
      // The system takes more for a while.
      for (let calls = -1; calls !== waits.callCount(); await pause(300)) calls = waits.callCount()
    }
    await eventually("one is closed", () => fixture.gateway.openConnections === 2)
    const [first, ...others] = sockets
    first?.resume()
    if (!first?.closed) await once(first as Socket, "close")
    assert.ok(others.every(({ destroyed }) => !destroyed))
    for (const socket of sockets) socket.destroy()
  })
}

/** Calls of the bounded write while `work` runs. */
async function boundedWrites(t: TestContext, work: () => Promise<unknown>): Promise<number> {
  const { mock } = t.mock.method(WaitingWrites.prototype, "write")
  await work()
  const count = mock.callCount()
  mock.restore()
  return count
}

test("the writes of bodies, answers and both directions of a tunnel are bounded", async (t) => {
  await using program = new TestProgram(echo)
  program.server.removeAllListeners("upgrade")
  program.server.on("upgrade", (_, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    socket.pipe(socket)
  })
  await using fixture = await GatewayFixture.open({ program })
  const authorization = { authorization: "Bearer ann" }
  const ask = (options: FixtureRequest) => fixture.ask(fixture.apps, "/run/1/", { headers: authorization, ...options })
  assert.equal(await boundedWrites(t, () => ask({ method: "POST", body: "x" })), 1)
  assert.ok((await boundedWrites(t, () => ask({ method: "POST", body: "x".repeat(200_000) }))) > 4)
  const { socket } = await fixture.upgrade(fixture.apps, "/run/1/", { Authorization: "Bearer ann" })
  const echoed = async () => {
    socket.write("x")
    socket.resume()
    await once(socket, "data")
  }
  assert.equal(await boundedWrites(t, echoed), 2)
  socket.destroy()
})
