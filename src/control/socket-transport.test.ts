import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { test } from "node:test"
import { WebSocket, WebSocketServer } from "ws"
import { SocketTransport } from "./socket-transport.ts"

test("the frames of one turn of the event loop reach the system in one call, and arrive one by one", async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.after(() => {
    client.terminate()
    server.close()
  })
  const [request, socket, head] = (await once(server, "upgrade")) as Parameters<WebSocketServer["handleUpgrade"]>
  const webSocket = await new Promise<WebSocket>((resolve) =>
    new WebSocketServer({ noServer: true }).handleUpgrade(request, socket, head, resolve),
  )
  const calls = socket as unknown as Record<"_write" | "_writev", () => void>
  const together = t.mock.method(calls, "_writev")
  const alone = t.mock.method(calls, "_write")
  const transport = new SocketTransport({ webSocket, socket, onDrained: () => {} })
  const received: string[] = []
  client.on("message", (data) => received.push(String(data)))
  const sent = ["one", "two", "x".repeat(20_000), "four"]
  for (const text of sent) transport.send(Buffer.from(text))
  await new Promise<void>((resolve) =>
    client.on("message", () => {
      if (received.length === sent.length) resolve()
    }),
  )
  assert.deepEqual(received, sent)
  assert.deepEqual([together.mock.callCount(), alone.mock.callCount()], [1, 0])
})

test("a frame that a client does not read counts for the memory that it takes, however short it is", () => {
  const sent: (() => void)[] = []
  const webSocket = { OPEN: 1, readyState: 1, bufferedAmount: 0, send: (_: Uint8Array, done: () => void) => sent.push(done) }
  const socket = { cork: () => {}, uncork: () => {} }
  let drained = 0
  const transport = new SocketTransport({
    webSocket: webSocket as unknown as WebSocket,
    socket: socket as unknown as Duplex,
    onDrained: () => (drained += 1),
  })
  for (let i = 0; i < 3_000; i += 1) transport.send(Buffer.of(9, 0, 0, 0, 0))
  assert.equal(transport.isCongested, true)
  for (const done of sent) done()
  assert.equal(drained, 1)
  assert.equal(transport.isCongested, false)
})
