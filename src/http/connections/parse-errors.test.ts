import assert from "node:assert/strict"
import { once } from "node:events"
import { type AddressInfo, connect } from "node:net"
import { test } from "node:test"
import { createServer } from "../node/http.ts"
import { handleParseErrors } from "./parse-errors.ts"
import { queueRequest } from "./pipelining.ts"

const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

test("a client that goes away behind a request without an answer is let go, whatever it began to send", { timeout: 60_000 }, async () => {
  const asked = Promise.withResolvers<void>()
  const server = createServer((incoming, response) => queueRequest(incoming, response, { handler: () => asked.resolve(), maxWaiting: 100 }))
  handleParseErrors(server, { maxHeadBytes: 16_384, headers: {} })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  for (const behind of ["", "GET / HT", "GARBAGE\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"]) {
    const socket = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, allowHalfOpen: true })
    let answer = ""
    socket.setEncoding("latin1").on("data", (text) => {
      answer += text
    })
    socket.on("error", () => {})
    socket.end(request + behind)
    await asked.promise
    await once(socket, "end")
    assert.equal(answer, "", behind)
  }
  await new Promise((resolve) => server.close(resolve))
})
