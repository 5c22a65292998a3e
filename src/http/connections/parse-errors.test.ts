import assert from "node:assert/strict"
import { once } from "node:events"
import { type AddressInfo, connect } from "node:net"
import { test } from "node:test"
import { bounds } from "#contract"
import { createServer } from "../node/http.ts"
import { createHttpServer } from "./http-server.ts"
import { handleParseErrors } from "./parse-errors.ts"
import { queueRequest } from "./pipelining.ts"

const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

test("a client that leaves before its answer loses its connection, whatever it sent after the request", { timeout: 60_000 }, async () => {
  const requested = Promise.withResolvers<void>()
  const server = createServer((incoming, response) =>
    queueRequest(incoming, response, { handler: () => requested.resolve(), maxWaiting: 100 }),
  )
  handleParseErrors(server, { maxHeadBytes: 16_384, longChunkExtensions: "invalid", headers: {} })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  for (const behind of ["", "GET / HT", "GARBAGE\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"]) {
    const socket = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, allowHalfOpen: true })
    let answer = ""
    socket.setEncoding("latin1").on("data", (text) => {
      answer += text
    })
    socket.on("error", () => {})
    socket.end(request + behind)
    await requested.promise
    await once(socket, "end")
    assert.equal(answer, "", behind)
  }
  await new Promise((resolve) => server.close(resolve))
})

test("chunk extensions that are too long are refused with the code that the server chose", { timeout: 60_000 }, async () => {
  for (const [longChunkExtensions, status] of [
    ["invalid", 400],
    ["too_large", 413],
  ] as const) {
    const server = createHttpServer({
      handler: (incoming) => incoming.resume(),
      parseErrors: { maxHeadBytes: 16_384, longChunkExtensions, headers: {} },
      requestTimeoutMs: 0,
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const socket = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port })
    socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;${"x".repeat(20_000)}\r\na\r\n0\r\n\r\n`)
    const [answer] = await once(socket.setEncoding("latin1"), "data")
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} .*"code":"${longChunkExtensions}"`, "s"))
    socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
})

test("a request has a bounded number of header fields, however short they are", { timeout: 60_000 }, async () => {
  const server = createHttpServer({
    handler: (incoming, response) => response.end(`fields ${incoming.rawHeaders.length / 2}`),
    parseErrors: { maxHeadBytes: 16_384, longChunkExtensions: "invalid", headers: {} },
    requestTimeoutMs: 0,
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const answerTo = async (fields: number) => {
    const socket = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port })
    socket.write(`GET / HTTP/1.1\r\nConnection: close\r\n${"a:\r\n".repeat(fields - 1)}\r\n`)
    return (await socket.setEncoding("latin1").toArray()).join("")
  }
  const most = bounds.http.headers.value
  assert.match(await answerTo(most), new RegExp(`^HTTP/1\\.1 200 .*fields ${most}$`, "s"))
  assert.match(await answerTo(most + 1), /^HTTP\/1\.1 431 .*"code":"headers_too_large"/s)
  await new Promise((resolve) => server.close(resolve))
})
