import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { on, once } from "node:events"
import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from "node:http"
import { connect, createServer, type Socket } from "node:net"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { GatewayFixture, keyA, readHead, TestProgram } from "../testing/gateway-fixture.ts"

const ann = { authorization: "Bearer ann" }

/** A request below `/run/1` whose answer the caller reads itself. */
function begin(gateway: GatewayFixture, path: string, options: { method?: string; headers?: Record<string, string> } = {}): ClientRequest {
  const { method = "GET", headers } = options
  return request({
    host: "127.0.0.1",
    port: gateway.port,
    path: `/run/1${path}`,
    method,
    agent: false,
    headers: { host: gateway.apps, ...ann, ...headers },
  })
}

async function answerTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
  return answer
}

/** A program that answers each connection with given bytes, by hand. */
async function rawScene(reply: (socket: Socket, request: string) => void) {
  const stack = new AsyncDisposableStack()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => sockets.delete(socket))
    socket.on("data", (chunk) => reply(socket, chunk.toString("latin1")))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  stack.defer(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(() => resolve()))
  })
  const gateway = stack.use(await GatewayFixture.open())
  const address = server.address() as { port: number }
  gateway.runs.targets.set(keyA, { ...gateway.target, address: { host: "127.0.0.1", port: address.port } })
  return { gateway, sockets, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test("large bodies cross unchanged in both directions, with and without a length", async () => {
  const body = Buffer.alloc(20_000_000)
  for (let i = 0; i < body.length; i += 4) body.writeUInt32LE((i * 2654435761) >>> 0, i)
  const program = new TestProgram((incoming, response) => {
    if (incoming.url === "/length") response.setHeader("content-length", incoming.headers["content-length"] ?? 0)
    incoming.pipe(response)
  })
  await using gateway = await GatewayFixture.open({ program })
  for (const [path, headers] of [
    ["/length", { "content-length": String(body.length) }],
    ["/chunked", { "transfer-encoding": "chunked" }],
  ] as const) {
    const outgoing = begin(gateway, path, { method: "POST", headers })
    outgoing.end(body)
    const hash = createHash("sha256")
    let length = 0
    for await (const chunk of await answerTo(outgoing)) {
      hash.update(chunk)
      length += chunk.length
    }
    assert.equal(length, body.length)
    assert.equal(hash.digest("hex"), createHash("sha256").update(body).digest("hex"))
  }
})

test("what comes in thousands of tiny chunks goes on in few, in both directions", async () => {
  const count = 20_000
  const chunks = Buffer.from(`${"1\r\nx\r\n".repeat(count)}0\r\n\r\n`)
  let upload = ""
  await using made = await rawScene((socket, text) => {
    upload += text
    if (!upload.endsWith("\r\n0\r\n\r\n")) return
    socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    socket.write(chunks)
  })
  const head =
    "POST /run/1/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
  const answer = await made.gateway.raw(Buffer.concat([Buffer.from(head), chunks]))
  for (const text of [upload, answer]) {
    const body = text.slice(text.indexOf("\r\n\r\n") + 4)
    const sizes = [...body.matchAll(/([0-9a-f]+)\r\n(x*)\r\n/g)]
    assert.ok(
      sizes.every(([, size = "", data = ""]) => Number.parseInt(size, 16) === data.length),
      "chunks are as long as they say",
    )
    assert.equal(sizes.map(([, , data]) => data).join("").length, count)
    assert.ok(sizes.length < count / 100, `${sizes.length} chunks`)
  }
})

test("an event reaches the client when it is sent, the head before the first of them", async () => {
  let answer: ServerResponse | undefined
  const program = new TestProgram((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
    answer = response
  })
  await using gateway = await GatewayFixture.open({ program })
  const outgoing = begin(gateway, "/")
  outgoing.end()
  const incoming = await answerTo(outgoing)
  for (const text of ["data: 1\n\n", "data: 2\n\n"]) {
    answer?.write(text)
    const [chunk] = (await once(incoming, "data")) as [Buffer]
    assert.equal(String(chunk), text)
  }
  incoming.destroy()
})

test("a slow reader slows the program, and the gateway holds little", async () => {
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
  await using gateway = await GatewayFixture.open({ program })
  const outgoing = begin(gateway, "/")
  outgoing.end()
  const incoming = await answerTo(outgoing)
  incoming.pause()
  await settled(() => sent)
  assert.ok(sent < 100, `${sent} MiB were taken from the program while nobody read`)
  let length = 0
  for await (const chunk of incoming) length += chunk.length
  assert.equal(length, 400 << 20)
})

test("a slow program slows the sender, and the gateway holds little", async () => {
  let incoming: IncomingMessage | undefined
  const program = new TestProgram((message, response) => {
    incoming = message.pause()
    message.on("end", () => response.end("done"))
  })
  await using gateway = await GatewayFixture.open({ program })
  const outgoing = begin(gateway, "/", { method: "PUT", headers: { "content-length": String(400 << 20) } })
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
  assert.equal((await answerTo(outgoing)).statusCode, 200)
})

/** Waits until a count stands still for a while. */
async function settled(count: () => number): Promise<void> {
  for (let last = -1; last !== count(); ) {
    last = count()
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

test("answers without a body keep their headers, and requests sent ahead are answered in order", async () => {
  const program = new TestProgram((incoming, response) => {
    const status = Number(incoming.url?.slice(1))
    response.writeHead(status, status === 204 ? {} : { "content-length": "5", etag: '"1"' })
    response.end(incoming.method === "HEAD" || status !== 200 ? undefined : "hello")
  })
  await using gateway = await GatewayFixture.open({ program })
  const head = "Authorization: Bearer ann\r\nHost: localhost\r\n"
  const text = await gateway.raw(
    `HEAD /run/1/200 HTTP/1.1\r\n${head}\r\nGET /run/1/204 HTTP/1.1\r\n${head}\r\nGET /run/1/304 HTTP/1.1\r\n${head}\r\nGET /run/1/200 HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
  )
  assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 204", "HTTP/1.1 304", "HTTP/1.1 200"])
  assert.equal(text.match(/ETag: "1"/gi)?.length, 3)
  assert.ok(text.endsWith("\r\n\r\nhello"))
})

test("of requests sent ahead one is under way at a time, and who sends hundreds is let go", async () => {
  const held = Promise.withResolvers<ServerResponse>()
  const program = new TestProgram((incoming, response) => {
    if (incoming.url === "/held") held.resolve(response)
    else response.end(incoming.url)
  })
  await using gateway = await GatewayFixture.open({ program })
  const head = "Authorization: Bearer ann\r\nHost: localhost\r\n"
  const many = (count: number) => `GET /run/1/next HTTP/1.1\r\n${head}\r\n`.repeat(count)
  const asking = gateway.raw(
    `GET /run/1/held HTTP/1.1\r\n${head}\r\n${many(50)}GET /run/1/last HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
  )
  const response = await held.promise
  await gateway.ask(gateway.apps, "/run/1/other", { headers: ann })
  assert.deepEqual(program.requests.map(({ url }) => url).sort(), ["/held", "/other"])
  response.end("held")
  const text = await asking
  assert.equal(text.match(/HTTP\/1\.1 200/g)?.length, 52)
  assert.ok(text.endsWith("/last"))
  const before = program.requests.length
  await gateway.raw(many(500))
  assert.ok(program.requests.length < before + 10, "their answers are not made")
})

test("trailers cross in both directions", async () => {
  const program = new TestProgram((incoming, response) => {
    incoming.resume().on("end", () => {
      response.writeHead(200, { trailer: "x-sum" })
      response.write("body")
      response.addTrailers({ "x-sum": String(incoming.trailers["x-check"]) })
      response.end()
    })
  })
  await using gateway = await GatewayFixture.open({ program })
  const outgoing = begin(gateway, "/", { method: "POST", headers: { "transfer-encoding": "chunked", trailer: "x-check" } })
  outgoing.write("a")
  outgoing.addTrailers({ "x-check": "42" })
  outgoing.end()
  const answer = await answerTo(outgoing)
  answer.resume()
  await once(answer, "end")
  assert.equal(answer.headers.trailer, "x-sum")
  assert.equal(answer.trailers["x-sum"], "42")
})

test("an answer that announces trailers it cannot have crosses without the announcement", async () => {
  const answers: [string, string, string][] = [
    ["GET", "1.1", "HTTP/1.1 200 OK\r\nTrailer: X\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"],
    ["HEAD", "1.1", "HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"],
    ["GET", "1.1", "HTTP/1.1 304 Not Modified\r\nTrailer: X\r\nConnection: close\r\n\r\n"],
    ["GET", "1.0", "HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n"],
  ]
  for (const [method, version, answer] of answers) {
    await using gateway = await GatewayFixture.open()
    gateway.program.server.removeAllListeners("request").on("request", (request) => request.socket.end(answer))
    const text = await gateway.raw(
      `${method} /run/1/ HTTP/${version}\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nConnection: close\r\n\r\n`,
    )
    assert.match(text, /^HTTP\/1\.1 (?:200|304) /, answer)
    assert.doesNotMatch(text, /^trailer:/im)
    if (method === "GET" && !/304/.test(answer)) assert.match(text, /hello/)
  }
})

test("a client that asks first is told to go on, or refused before it sends", async () => {
  await using gateway = await GatewayFixture.open()
  const allowed = begin(gateway, "/", { method: "POST", headers: { expect: "100-continue", "content-length": "5" } })
  allowed.flushHeaders()
  await once(allowed, "continue")
  allowed.end("hello")
  const answer = await answerTo(allowed)
  assert.equal(JSON.parse(String((await once(answer, "data"))[0])).body, "hello")

  const refused = begin(gateway, "/", {
    method: "POST",
    headers: { expect: "100-continue", "content-length": "5", authorization: "Bearer bob" },
  })
  let wasTold = false
  refused.on("continue", () => {
    wasTold = true
  })
  refused.flushHeaders()
  const refusal = await answerTo(refused)
  assert.equal(refusal.statusCode, 404)
  assert.equal(refusal.headers.connection, "close")
  assert.equal(wasTold, false)
  refused.destroy()

  const unknown = begin(gateway, "/", { method: "POST", headers: { expect: "tea", "content-length": "5" } })
  unknown.flushHeaders()
  assert.equal((await answerTo(unknown)).statusCode, 417)
  unknown.destroy()
})

test("a client that goes away ends the program's work", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const program = new TestProgram((_, response) => {
    response.on("close", resolve)
    response.writeHead(200)
    response.write("x")
  })
  await using gateway = await GatewayFixture.open({ program })
  const outgoing = begin(gateway, "/")
  outgoing.end()
  ;(await answerTo(outgoing)).destroy()
  await promise
})

test("a client that goes away within its upload ends the program's request", async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const program = new TestProgram((incoming) => {
    incoming.resume()
    incoming.on("close", () => resolve(incoming.complete))
  })
  await using gateway = await GatewayFixture.open({ program })
  const outgoing = begin(gateway, "/", { method: "POST", headers: { "content-length": "10" } })
  outgoing.on("error", () => {})
  outgoing.write("12345", () => outgoing.destroy())
  assert.equal(await promise, false)
})

test("a program that dies within its answer cuts the client's connection: no truncated answer looks whole", async () => {
  for (const headers of [{ "content-length": "10" }, {}]) {
    const program = new TestProgram((incoming, response) => {
      response.writeHead(200, headers as Record<string, string>)
      response.write("12345", () => incoming.socket.destroy())
    })
    await using gateway = await GatewayFixture.open({ program })
    await assert.rejects(gateway.ask(gateway.apps, "/run/1/", { headers: ann }), { code: "ECONNRESET" })
  }
})

test("a program that answers something that is not HTTP gives 503", async () => {
  for (const reply of [
    "nonsense\r\n\r\n",
    "HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX : a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello",
    `HTTP/1.1 200 OK\r\nX: ${"a".repeat(70_000)}\r\n\r\n`,
    "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(40),
    "",
  ]) {
    await using made = await rawScene((socket) => socket.end(reply))
    const answer = await made.gateway.ask(made.gateway.apps, "/run/1/", { headers: ann })
    assert.equal(answer.status, 503, JSON.stringify(reply.slice(0, 80)))
    assert.equal(JSON.parse(answer.text).code, "unavailable")
  }
})

test("odd but sound answers cross: interim ones, no length, HTTP/1.0, byte by byte", async () => {
  for (const [reply, body] of [
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok"],
    ["HTTP/1.1 200 OK\r\n\r\nto the end", "to the end"],
    ["HTTP/1.0 200\r\nContent-Length: 2\r\n\r\nok", "ok"],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;a=b\r\nok\r\n00\r\nX: y\r\n\r\n", "ok"],
  ] as const) {
    await using made = await rawScene(async (socket) => {
      for (const byte of reply) {
        socket.write(byte)
        await new Promise((resolve) => setImmediate(resolve))
      }
      socket.end()
    })
    const answer = await made.gateway.ask(made.gateway.apps, "/run/1/", { headers: ann })
    assert.equal(answer.status, 200)
    assert.equal(answer.text, body)
  }
})

test("an answer that comes before the upload ends is delivered", async () => {
  const program = new TestProgram((_, response) => response.writeHead(413, { connection: "close" }).end("too large"))
  await using gateway = await GatewayFixture.open({ program })
  const socket = connect(gateway.port, "127.0.0.1")
  socket.write(`POST /run/1/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nContent-Length: 1000000\r\n\r\n`)
  socket.on("error", () => {})
  const { head } = await readHead(socket)
  assert.match(head, /^HTTP\/1\.1 413/)
  socket.destroy()
})

test("connections to the program are kept and used again, one request at a time", async () => {
  await using gateway = await GatewayFixture.open()
  for (let i = 0; i < 5; i += 1) assert.equal((await gateway.ask(gateway.apps, "/run/1/", { headers: ann })).status, 200)
  assert.equal(gateway.program.connections, 1)
  await Promise.all(Array.from({ length: 5 }, () => gateway.ask(gateway.apps, "/run/1/", { headers: ann })))
  assert.ok(gateway.program.connections <= 5)
})

test("bytes that nobody asked for end a kept connection, and reach nobody", async () => {
  const connections: Socket[] = []
  await using made = await rawScene((socket) => {
    connections.push(socket)
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
  })
  for (let i = 0; i < 3; i += 1) assert.equal((await made.gateway.ask(made.gateway.apps, "/run/1/", { headers: ann })).text, "ok")
  assert.equal(new Set(connections).size, 3)
})

test("a kept connection that the program was closing costs a GET nothing", async () => {
  let count = 0
  await using made = await rawScene((socket, text) => {
    count += 1
    // The first request of a connection is answered, the second finds it closed.
    if (count % 2 === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    else if (text.startsWith("GET")) socket.destroy()
  })
  for (let i = 0; i < 4; i += 1) assert.equal((await made.gateway.ask(made.gateway.apps, "/run/1/", { headers: ann })).text, "ok")
})

test("a request that may have had an effect is never sent twice", async () => {
  const seen: string[] = []
  await using made = await rawScene((socket, text) => {
    seen.push(text.slice(0, 4))
    if (seen.length === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    else socket.destroy()
  })
  await made.gateway.ask(made.gateway.apps, "/run/1/", { headers: ann })
  const answer = await made.gateway.ask(made.gateway.apps, "/run/1/", { method: "POST", headers: ann, body: "x" })
  assert.equal(answer.status, 503)
  assert.deepEqual(seen, ["GET ", "POST"])
})

test("a run that moved is asked at its new address only", async () => {
  await using gateway = await GatewayFixture.open()
  await using other = new TestProgram((_, response) => response.end("the new one"))
  assert.equal((await gateway.ask(gateway.apps, "/run/1/", { headers: ann })).status, 200)
  const before = gateway.program.requests.length
  gateway.runs.targets.set(keyA, { ...gateway.target, address: await other.listen() })
  assert.equal((await gateway.ask(gateway.apps, "/run/1/", { headers: ann })).text, "the new one")
  assert.equal(gateway.program.requests.length, before)
})

test("a question that waits when its run moves is not asked again at the old address", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const program = new TestProgram((incoming, response) => {
    if (program.requests.length === 1) incoming.resume().on("end", () => response.end("first"))
    else resolve()
  })
  await using gateway = await GatewayFixture.open({ program })
  await gateway.ask(gateway.apps, "/run/1/", { headers: ann })
  const waiting = gateway.ask(gateway.apps, "/run/1/", { headers: ann })
  await promise
  await using other = new TestProgram((_, response) => response.end("the new one"))
  gateway.runs.targets.set(keyA, { ...gateway.target, address: await other.listen() })
  assert.equal((await gateway.ask(gateway.apps, "/run/1/", { headers: ann })).text, "the new one")
  assert.equal((await waiting).status, 503)
  assert.equal(program.requests.length, 2)
  assert.equal(program.connections, 1)
})

test("activity is told at most once a second for each run", async () => {
  const clock = new ManualClock()
  await using gateway = await GatewayFixture.open({ clock })
  for (const expected of [1, 2]) {
    for (let i = 0; i < 5; i += 1) await gateway.ask(gateway.apps, "/run/1/", { headers: ann })
    assert.equal(gateway.runs.activity.length, expected)
    await clock.advance(1_000)
  }
})

test("a client that stops within its upload, or reads no more, is cut after five minutes; one that goes on is not", async () => {
  const clock = new ManualClock()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<NodeJS.AsyncIterator<unknown>>()
  const program = new TestProgram((incoming, response) => {
    if (incoming.method === "GET") response.end(Buffer.alloc(64 << 20))
    else arrive(on(incoming, "data"))
  })
  await using gateway = await GatewayFixture.open({ clock, program })
  const sending = begin(gateway, "/", { method: "POST", headers: { "content-length": "10000" } })
  const sendingEnd = new Promise((resolve) => sending.on("close", resolve))
  sending.on("error", () => {}).write("1")
  const chunks = await arrived
  await chunks.next()
  const reading = begin(gateway, "/")
  reading.end()
  const answer = (await answerTo(reading)).pause()
  const readingEnd = new Promise((resolve) => answer.on("error", resolve))
  assert.equal(gateway.gateway.openConnections, 2)
  // What the kernel holds on the way may go on for a while.
  await eventually("who does not read is cut", async () => {
    await clock.advance(4 * 60_000)
    sending.write("2")
    await chunks.next()
    return gateway.gateway.openConnections === 1
  })
  answer.resume()
  await readingEnd
  assert.equal(sending.destroyed, false)
  await clock.advance(5 * 60_000)
  await sendingEnd
})

test("a 204 has no length, a 304 and an answer to HEAD keep theirs, and what follows a 204 is never the next answer", async () => {
  const requests: string[] = []
  await using made = await rawScene((socket, text) => {
    requests.push(text.split(" ")[1] ?? "")
    const reply = (head: string, more = "") => socket.write(`HTTP/1.1 ${head}\r\n\r\n${more}`)
    const forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    if (text.includes(" /early ")) return void reply("103 Early\r\nContent-Length: 5", "HTTP/1.1 204 None\r\nContent-Length: 0\r\n\r\n")
    if (text.includes(" /at-once ")) return void reply(`204 None\r\nContent-Length: ${forged.length}`, forged)
    if (text.includes(" /later ")) {
      reply(`204 None\r\nContent-Length: ${forged.length}`)
      return void setImmediate(() => socket.write(forged))
    }
    if (text.includes(" /chunked ")) return void reply("204 None\r\nTransfer-Encoding: chunked", "6\r\nforged\r\n0\r\n\r\n")
    if (text.includes(" /304 ")) return void reply("304 Not Modified\r\nContent-Length: 7")
    if (text.startsWith("HEAD")) return void reply("200 OK\r\nContent-Length: 7")
    return void reply("200 OK\r\nContent-Length: 4", "true")
  })
  const { gateway } = made
  const ask = (path: string, method = "GET") => gateway.ask(gateway.apps, `/run/1${path}`, { method, headers: ann })
  for (const path of ["/early", "/at-once", "/later", "/chunked"]) {
    const { status, headers, text } = await ask(path)
    assert.deepEqual([status, headers["content-length"], headers["transfer-encoding"], text], [204, undefined, undefined, ""], path)
    assert.equal((await ask("/next")).text, "true", path)
  }
  assert.deepEqual(await ask("/304").then(({ status, headers }) => [status, headers["content-length"]]), [304, "7"])
  assert.equal((await ask("/next")).text, "true")
  assert.deepEqual(await ask("/head", "HEAD").then(({ status, headers }) => [status, headers["content-length"]]), [200, "7"])
  assert.equal((await ask("/next")).text, "true")
})
