import assert from "node:assert/strict"
import { IncomingMessage, ServerResponse } from "node:http"
import { test } from "node:test"
import { queryObjects } from "node:v8"
import { GatewayFixture, TestProgram } from "../testing/gateway-fixture.ts"

test("an open tunnel releases its request and response", async () => {
  const program = new TestProgram()
  program.server.on("upgrade", (_, socket) => {
    socket.on("error", () => {}).write("HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
  })
  await using fixture = await GatewayFixture.open({ program })
  const count = () => [ServerResponse, IncomingMessage].map((each) => queryObjects(each, { format: "count" }))
  const before = count()
  const sockets = []
  for (let i = 0; i < 20; i += 1) sockets.push((await fixture.upgrade(fixture.apps, "/run/1/", { Authorization: "Bearer ann" })).socket)
  const now = count()
  for (const [i, number] of now.entries()) assert.ok(number < (before[i] as number) + 5, `${before} before, ${now} with 20 tunnels`)
  assert.equal(fixture.gateway.openConnections, 20)
  for (const socket of sockets) socket.destroy()
})
