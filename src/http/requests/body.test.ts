import assert from "node:assert/strict"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { request as sendRequest } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { test } from "node:test"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { countTurns } from "../../../test/fixtures/turns.ts"
import { queueRequest } from "../connections/pipelining.ts"
import { serverOptions } from "../node/buffered-request.ts"
import { createServer } from "../node/http.ts"
import { IncompleteBodyError, readBody } from "./body.ts"

test("`readBody` rejects when the client left before it was called", { timeout: 20_000 }, async () => {
  const received = Promise.withResolvers<IncomingMessage>()
  const server = createServer({ ...serverOptions }, (request) => received.resolve(request))
  await once(server.listen(0, "127.0.0.1"), "listening")
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1")
  client.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab")
  const request = await received.promise
  const closed = new Promise((resolve) => request.once("close", resolve))
  client.destroy()
  await closed
  server.close()
  await assert.rejects(readBody(request, { maxBytes: 100, timeoutMs: 5_000 }), IncompleteBodyError)
})

test("a large body moves no more in a turn than the person's budget", async (t) => {
  const total = 4 * 1024 * 1024
  const counts = countTurns(t, 7)
  const server = createServer({ ...serverOptions }, async (request, response) => {
    const body = await readBody(request, { maxBytes: total, userId: 7 })
    response.end(String(body.length))
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const outgoing = sendRequest({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", method: "POST", agent: false })
  outgoing.end(Buffer.alloc(total))
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
  assert.equal((await answer.toArray()).join(""), String(total))
  server.close()
  counts.assertMoved(total)
})

test("an idle connection keeps nothing of its last request's body", async () => {
  const size = 4 * 1024 * 1024
  const connections = 8
  const server = createServer({ ...serverOptions, keepAliveTimeout: 60_000 }, (request, response) =>
    queueRequest(request, response, {
      maxWaiting: 1,
      handler: async () => {
        const body = await readBody(request, { maxBytes: size })
        response.end(String(body.length))
      },
    }),
  )
  await once(server.listen(0, "127.0.0.1"), "listening")
  const { port } = server.address() as AddressInfo
  const before = bufferBytes()
  const body = Buffer.alloc(size)
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(port, "127.0.0.1")
      socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${size}\r\n\r\n`)
      socket.write(body)
      const [answer] = (await once(socket, "data")) as [Buffer]
      assert.match(String(answer), new RegExp(`${size}$`))
      return socket
    }),
  )
  const isFree = () => bufferBytes() - before - size < size
  await eventually("the bodies are free", isFree, 10_000).finally(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
})

/** Of all buffers that somebody holds. */
function bufferBytes(): number {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
  return process.memoryUsage().arrayBuffers
}
