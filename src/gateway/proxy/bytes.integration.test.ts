import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { test } from "node:test"
import { GatewayFixture, TestProgram } from "../testing/gateway-fixture.ts"
import { openRequest, responseOf, startRawProgram } from "../testing/requests.ts"

const ann = { authorization: "Bearer ann" }

test("large bodies are forwarded unchanged in both directions, with and without a length", async () => {
  const body = Buffer.alloc(20_000_000)
  for (let i = 0; i < body.length; i += 4) body.writeUInt32LE((i * 2654435761) >>> 0, i)
  const program = new TestProgram((incoming, response) => {
    if (incoming.url === "/length") response.setHeader("content-length", incoming.headers["content-length"] ?? 0)
    incoming.pipe(response)
  })
  await using fixture = await GatewayFixture.open({ program })
  for (const [path, headers] of [
    ["/length", { "content-length": String(body.length) }],
    ["/chunked", { "transfer-encoding": "chunked" }],
  ] as const) {
    const outgoing = openRequest(fixture, path, { method: "POST", headers })
    outgoing.end(body)
    const hash = createHash("sha256")
    let length = 0
    for await (const chunk of await responseOf(outgoing)) {
      hash.update(chunk)
      length += chunk.length
    }
    assert.equal(length, body.length)
    assert.equal(hash.digest("hex"), createHash("sha256").update(body).digest("hex"))
  }
})

test("thousands of tiny chunks are forwarded as few, in both directions", async () => {
  const count = 20_000
  const chunks = Buffer.from(`${"1\r\nx\r\n".repeat(count)}0\r\n\r\n`)
  let upload = ""
  await using program = await startRawProgram((socket, text) => {
    upload += text
    if (!upload.endsWith("\r\n0\r\n\r\n")) return
    socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    socket.write(chunks)
  })
  const head =
    "POST /run/1/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
  const answer = await program.fixture.raw(Buffer.concat([Buffer.from(head), chunks]))
  for (const text of [upload, answer]) {
    const body = text.slice(text.indexOf("\r\n\r\n") + 4)
    const sizes = [...body.matchAll(/([0-9a-f]+)\r\n(x*)\r\n/g)]
    assert.ok(
      sizes.every(([, size = "", data = ""]) => Number.parseInt(size, 16) === data.length),
      "each chunk has its announced length",
    )
    assert.equal(sizes.map(([, , data]) => data).join("").length, count)
    assert.ok(sizes.length < count / 100, `${sizes.length} chunks`)
  }
})

test("events reach the client at once, and the head precedes the first", async () => {
  let answer: ServerResponse | undefined
  const program = new TestProgram((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
    answer = response
  })
  await using fixture = await GatewayFixture.open({ program })
  const outgoing = openRequest(fixture, "/")
  outgoing.end()
  const incoming = await responseOf(outgoing)
  for (const text of ["data: 1\n\n", "data: 2\n\n"]) {
    answer?.write(text)
    const [chunk] = (await once(incoming, "data")) as [Buffer]
    assert.equal(String(chunk), text)
  }
  incoming.destroy()
})

test("a slow reader slows the program, and the gateway buffers little", async () => {
  let sent = 0
  const program = new TestProgram((_, response) => {
    const block = Buffer.alloc(1 << 20)
    const more = () => {
      while (sent < 400) {
        sent += 1
        if (!response.write(block)) return void response.once("drain", more)
      }
      response.end()
    }
    more()
  })
  await using fixture = await GatewayFixture.open({ program })
  const outgoing = openRequest(fixture, "/")
  outgoing.end()
  const incoming = await responseOf(outgoing)
  incoming.pause()
  await settled(() => sent)
  assert.ok(sent < 100, `${sent} MiB were taken from the program while nobody read`)
  let length = 0
  for await (const chunk of incoming) length += chunk.length
  assert.equal(length, 400 << 20)
})

test("a slow program slows the sender, and the gateway buffers little", async () => {
  let incoming: IncomingMessage | undefined
  const program = new TestProgram((message, response) => {
    incoming = message.pause()
    message.on("end", () => response.end("done"))
  })
  await using fixture = await GatewayFixture.open({ program })
  const outgoing = openRequest(fixture, "/", { method: "PUT", headers: { "content-length": String(400 << 20) } })
  const block = Buffer.alloc(1 << 20)
  let sent = 0
  const more = () => {
    while (sent < 400) {
      sent += 1
      if (!outgoing.write(block)) return void outgoing.once("drain", more)
    }
    outgoing.end()
  }
  more()
  await settled(() => sent)
  assert.ok(sent < 100, `${sent} MiB were taken from the client while the program did not read`)
  incoming?.resume()
  assert.equal((await responseOf(outgoing)).statusCode, 200)
})

/** Waits until a count stands still for a while. */
async function settled(count: () => number): Promise<void> {
  for (let last = -1; last !== count(); ) {
    last = count()
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

test("responses without a body have their headers, and pipelined requests are answered in order", async () => {
  const program = new TestProgram((incoming, response) => {
    const status = Number(incoming.url?.slice(1))
    response.writeHead(status, status === 204 ? {} : { "content-length": "5", etag: '"1"' })
    response.end(incoming.method === "HEAD" || status !== 200 ? undefined : "hello")
  })
  await using fixture = await GatewayFixture.open({ program })
  const head = "Authorization: Bearer ann\r\nHost: localhost\r\n"
  const text = await fixture.raw(
    `HEAD /run/1/200 HTTP/1.1\r\n${head}\r\nGET /run/1/204 HTTP/1.1\r\n${head}\r\nGET /run/1/304 HTTP/1.1\r\n${head}\r\nGET /run/1/200 HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
  )
  assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 204", "HTTP/1.1 304", "HTTP/1.1 200"])
  assert.equal(text.match(/ETag: "1"/gi)?.length, 3)
  assert.ok(text.endsWith("\r\n\r\nhello"))
})

test("pipelined requests are handled one at a time, and hundreds of them close the connection", async () => {
  const held = Promise.withResolvers<ServerResponse>()
  const program = new TestProgram((incoming, response) => {
    if (incoming.url === "/held") held.resolve(response)
    else response.end(incoming.url)
  })
  await using fixture = await GatewayFixture.open({ program })
  const head = "Authorization: Bearer ann\r\nHost: localhost\r\n"
  const many = (count: number) => `GET /run/1/next HTTP/1.1\r\n${head}\r\n`.repeat(count)
  const asking = fixture.raw(
    `GET /run/1/held HTTP/1.1\r\n${head}\r\n${many(50)}GET /run/1/last HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
  )
  const response = await held.promise
  await fixture.ask(fixture.apps, "/run/1/other", { headers: ann })
  assert.deepEqual(program.requests.map(({ url }) => url).sort(), ["/held", "/other"])
  response.end("held")
  const text = await asking
  assert.equal(text.match(/HTTP\/1\.1 200/g)?.length, 52)
  assert.ok(text.endsWith("/last"))
  const before = program.requests.length
  await fixture.raw(many(500))
  assert.ok(program.requests.length < before + 10, "their answers are not made")
})

test("trailers are forwarded in both directions", async () => {
  const program = new TestProgram((incoming, response) => {
    incoming.resume().on("end", () => {
      response.writeHead(200, { trailer: "x-sum" })
      response.write("body")
      response.addTrailers({ "x-sum": String(incoming.trailers["x-check"]) })
      response.end()
    })
  })
  await using fixture = await GatewayFixture.open({ program })
  const outgoing = openRequest(fixture, "/", { method: "POST", headers: { "transfer-encoding": "chunked", trailer: "x-check" } })
  outgoing.write("a")
  outgoing.addTrailers({ "x-check": "42" })
  outgoing.end()
  const answer = await responseOf(outgoing)
  answer.resume()
  await once(answer, "end")
  assert.equal(answer.headers.trailer, "x-sum")
  assert.equal(answer.trailers["x-sum"], "42")
})

test("a `Trailer` header is dropped from a response that can have no trailers", async () => {
  const answers: [string, string, string][] = [
    ["GET", "1.1", "HTTP/1.1 200 OK\r\nTrailer: X\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"],
    ["HEAD", "1.1", "HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"],
    ["GET", "1.1", "HTTP/1.1 304 Not Modified\r\nTrailer: X\r\nConnection: close\r\n\r\n"],
    ["GET", "1.0", "HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n"],
  ]
  for (const [method, version, answer] of answers) {
    await using fixture = await GatewayFixture.open()
    fixture.program.server.removeAllListeners("request").on("request", (request) => request.socket.end(answer))
    const text = await fixture.raw(
      `${method} /run/1/ HTTP/${version}\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nConnection: close\r\n\r\n`,
    )
    assert.match(text, /^HTTP\/1\.1 (?:200|304) /, answer)
    assert.doesNotMatch(text, /^trailer:/im)
    if (method === "GET" && !/304/.test(answer)) assert.match(text, /hello/)
  }
})

test("`Expect: 100-continue` is answered before the body, with 100 or a refusal", async () => {
  await using fixture = await GatewayFixture.open()
  const allowed = openRequest(fixture, "/", { method: "POST", headers: { expect: "100-continue", "content-length": "5" } })
  allowed.flushHeaders()
  await once(allowed, "continue")
  allowed.end("hello")
  const answer = await responseOf(allowed)
  assert.equal(JSON.parse(String((await once(answer, "data"))[0])).body, "hello")

  const refused = openRequest(fixture, "/", {
    method: "POST",
    headers: { expect: "100-continue", "content-length": "5", authorization: "Bearer bob" },
  })
  let gotContinue = false
  refused.on("continue", () => {
    gotContinue = true
  })
  refused.flushHeaders()
  const refusal = await responseOf(refused)
  assert.equal(refusal.statusCode, 404)
  assert.equal(refusal.headers.connection, "close")
  assert.equal(gotContinue, false)
  refused.destroy()

  const unknown = openRequest(fixture, "/", { method: "POST", headers: { expect: "tea", "content-length": "5" } })
  unknown.flushHeaders()
  assert.equal((await responseOf(unknown)).statusCode, 417)
  unknown.destroy()
})
