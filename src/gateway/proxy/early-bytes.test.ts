import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { test } from "node:test"
import { setImmediate as nextLoop } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { GatewayFixture, TestProgram } from "../testing/gateway-fixture.ts"

const upgrade = "Host: localhost\r\nAuthorization: Bearer ann\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

/** In MiB, without what nobody holds any more. */
function heap(): number {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
  return process.memoryUsage().heapUsed / 1024 ** 2
}

test("single bytes behind an upgrade request cost only their size, and arrive complete", async () => {
  const requests: Socket[] = []
  const program = new TestProgram()
  program.server.on("upgrade", (_request, socket) => requests.push(socket as Socket))
  await using fixture = await GatewayFixture.open({ program })
  const clients = Array.from({ length: 8 }, () => connect(fixture.port, "127.0.0.1").setNoDelay(true))
  for (const client of clients) client.write(`GET /run/1/ HTTP/1.1\r\n${upgrade}`)
  await eventually("all were asked for", () => requests.length === clients.length)
  const before = heap()
  const count = 6_000
  for (let i = 0; i < count; i += 1) {
    for (const client of clients) client.write("x")
    await nextLoop()
  }
  const more = heap() - before
  assert.ok(more < 3, `${more} MiB for ${clients.length * count} bytes`)
  requests[0]?.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
  let length = 0
  while (length < count) length += (await once(requests[0] as Socket, "data"))[0].length
  assert.equal(length, count)
  for (const client of clients) client.destroy()
})
