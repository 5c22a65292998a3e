import assert from "node:assert/strict"
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { test } from "node:test"
import { hasTinyChunks, serverOptions } from "./buffered-request.ts"
import { createServer } from "./http.ts"

/**
 * The pieces in which a server reads the first request's body, at once or after all bytes arrived.
 */
async function received(bytes: string, when: "at once" | "late"): Promise<{ pieces: Buffer[]; request: IncomingMessage }> {
  const { promise, resolve } = Promise.withResolvers<{ pieces: Buffer[]; request: IncomingMessage }>()
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    if (when === "late") while (request.readableLength < 40_000) await new Promise((next) => setTimeout(next, 5))
    const pieces: Buffer[] = await Array.fromAsync(request)
    response.end()
    resolve({ pieces, request })
  }
  const server = createServer({ ...serverOptions }, (request, response) => void take(request, response))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
  socket.on("error", () => {}).write(bytes)
  const received = await promise
  socket.destroy()
  await new Promise((done) => server.close(done))
  return received
}

const head = "POST / HTTP/1.1\r\nHost: localhost\r\n"

for (const when of ["at once", "late"] as const) {
  test(`a body in 100,000 chunks of one byte that is read ${when} is kept in few pieces, whole`, async () => {
    const text = "0123456789".repeat(10_000)
    const chunks = [...text].map((c) => `1\r\n${c}\r\n`).join("")
    const { pieces, request } = await received(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\nX: y\r\n\r\n`, when)
    assert.equal(Buffer.concat(pieces).toString(), text)
    assert.ok(pieces.length < 1_000, `${pieces.length} pieces`)
    assert.equal(hasTinyChunks(request), true)
    assert.equal(request.trailers.x, "y")
  })
}

test("a body of usual chunks is passed on unchanged", async () => {
  const { pieces, request } = await received(`${head}Content-Length: 200000\r\n\r\n${"x".repeat(200_000)}`, "at once")
  assert.equal(Buffer.concat(pieces).toString(), "x".repeat(200_000))
  assert.equal(hasTinyChunks(request), false)
})
