import assert from "node:assert/strict"
import { once } from "node:events"
import { request } from "node:http"
import { test } from "node:test"
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
