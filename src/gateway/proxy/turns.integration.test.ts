import assert from "node:assert/strict"
import { once } from "node:events"
import { request } from "node:http"
import { test } from "node:test"
import { setImmediate } from "node:timers/promises"
import { PacedReader, sharedTurnBudget } from "#http"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { countTurns } from "../../../test/fixtures/turns.ts"
import { ann, echo, GatewayFixture, TestProgram } from "../testing/gateway-fixture.ts"

const total = 16 * 1024 * 1024
test("a program's answer moves no more in a turn than the budget", async (t) => {
  await using program = new TestProgram((_, response) => response.end(Buffer.alloc(total)))
  await using fixture = await GatewayFixture.open({ program })
  const counts = countTurns(t, ann.userId)
  const { text } = await fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer ann" } })
  assert.equal(text.length, total)
  counts.assertMoved(total)
})

test("a request's body moves no more in a turn than the budget", async (t) => {
  let received = 0
  await using program = new TestProgram((incoming, response) => {
    incoming.on("data", (chunk: Buffer) => {
      received += chunk.length
    })
    incoming.on("end", () => response.end("done"))
  })
  await using fixture = await GatewayFixture.open({ program })
  const counts = countTurns(t, ann.userId)
  const headers = { host: fixture.apps, authorization: "Bearer ann", "content-length": total }
  const outgoing = request({ host: "127.0.0.1", port: fixture.port, method: "POST", path: "/run/1/", headers, agent: false })
  outgoing.end(Buffer.alloc(total))
  const [answer] = await once(outgoing, "response")
  answer.resume()
  assert.equal(received, total)
  counts.assertMoved(total)
})

test("a WebSocket moves no more in a turn than the budget, in both directions", async (t) => {
  await using program = new TestProgram(echo)
  program.server.removeAllListeners("upgrade")
  program.server.on("upgrade", (_, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    socket.pipe(socket)
  })
  await using fixture = await GatewayFixture.open({ program })
  const { socket } = await fixture.upgrade(fixture.apps, "/run/1/", { Authorization: "Bearer ann" })
  const counts = countTurns(t, ann.userId)
  socket.write(Buffer.alloc(total))
  let received = 0
  socket.on("data", (chunk) => {
    received += chunk.length
    if (received === total) socket.destroy()
  })
  socket.resume()
  await once(socket, "close")
  counts.assertMoved(2 * total)
})

test("both sides of a person's WebSockets stop before they read when the person's time in a turn has run out", async (t) => {
  await using program = new TestProgram(echo)
  program.server.removeAllListeners("upgrade")
  program.server.on("upgrade", (_, socket) => {
    socket.on("error", () => {}).on("end", () => socket.end())
    socket.resume()
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
  })
  await using fixture = await GatewayFixture.open({ program })
  const open = await Promise.all([1, 2, 3].map(() => fixture.upgrade(fixture.apps, "/run/1/", { Authorization: "Bearer ann" })))
  const held = t.mock.method(PacedReader.prototype, "holdBack")
  const spendTime = async () => {
    // A turn in which nothing was read yet.
    await setImmediate()
    held.mock.resetCalls()
    sharedTurnBudget.spend(ann.userId, 0, {})
    for (const end = performance.now() + 5; performance.now() < end; );
    sharedTurnBudget.spend(ann.userId, 0, {})
    return held.mock.callCount()
  }
  assert.equal(await spendTime(), 2 * open.length)
  for (const { socket } of open) socket.destroy()
  await eventually("the gateway forgets closed connections", async () => (await spendTime()) === 0)
})
