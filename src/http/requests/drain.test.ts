import assert from "node:assert/strict"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect } from "node:net"
import { test } from "node:test"
import { promisify } from "node:util"
import { drainBody, http } from "#http"
import { serverOptions } from "../node/buffered-request.ts"

/** Says no to whatever comes, before it read any of it. */
async function refusing(): Promise<AsyncDisposable & { port: number }> {
  const server = http.createServer(serverOptions, async (request, response) => {
    if (await drainBody(request, request.headers.expect ? { earlyResponseBytes: 0 } : {})) response.setHeader("Connection", "close")
    response.writeHead(403, { "Content-Length": 2 }).end("no")
  })
  server.on("checkContinue", (request, response) => server.emit("request", request, response))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

class Client implements Disposable {
  readonly #socket
  text = ""

  constructor(port: number) {
    this.#socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true })
    this.#socket.setEncoding("latin1").on("data", (text) => {
      this.text += text
    })
    this.#socket.on("error", () => {})
  }

  /** Rejects when the other side no longer takes anything. */
  send(bytes: string | Buffer): Promise<void> {
    return promisify<string | Buffer, void>((all, done) => this.#socket.write(all, done))(bytes)
  }

  /** The bytes received until the other side ended. */
  async ended(): Promise<string> {
    if (!this.#socket.readableEnded) await once(this.#socket, "end")
    return this.text
  }

  async received(text: string): Promise<void> {
    while (!this.text.includes(text)) await once(this.#socket, "data")
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }
}

const head = (fields: string) => `POST / HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n\r\n`
const megabyte = Buffer.alloc(1_000_000)

test("a client that continues to send reads the refusal, and the rest of its body is drained", async () => {
  await using server = await refusing()
  for (const fields of ["Content-Length: 3000000", "Transfer-Encoding: chunked", "Content-Length: 3000000\r\nExpect: 100-continue"]) {
    using client = new Client(server.port)
    const sent = fields.startsWith("T") ? Buffer.concat([Buffer.from("F4240\r\n"), megabyte, Buffer.from("\r\n")]) : megabyte
    await client.send(head(fields))
    await client.send(sent)
    assert.match(await client.ended(), /^HTTP\/1.1 403 .*\r\nConnection: close\r\n.*no$/s)
    await client.send(sent)
    await client.send(sent)
  }
})

test("a short rejected body keeps the connection open and is answered once it has arrived", async () => {
  await using server = await refusing()
  using client = new Client(server.port)
  await client.send(head("Content-Length: 3"))
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(client.text, "")
  await client.send("abc")
  await client.received("no")
  await client.send(head("Content-Length: 0\r\nConnection: close"))
  assert.equal((await client.ended()).split("HTTP/1.1 403 ").length, 3)
})

test("a rejected request that expects 100-continue closes the connection", async () => {
  await using server = await refusing()
  using client = new Client(server.port)
  await client.send(head("Content-Length: 3\r\nExpect: 100-continue"))
  assert.match(await client.ended(), /\r\nConnection: close\r\n/)
})

test("draining stops for an endless body and for one in thousands of one-byte chunks", async () => {
  await using server = await refusing()
  for (const piece of [Buffer.concat([Buffer.from("F4240\r\n"), megabyte, Buffer.from("\r\n")]), "1\r\n \r\n".repeat(10_000)]) {
    using client = new Client(server.port)
    await client.send(head("Transfer-Encoding: chunked"))
    const refused = (async () => {
      for (let i = 0; i < 200; i += 1) await client.send(piece)
    })()
    await assert.rejects(refused, { code: /^(EPIPE|ECONNRESET)$/ })
  }
})
