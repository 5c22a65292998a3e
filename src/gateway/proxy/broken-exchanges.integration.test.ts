import assert from "node:assert/strict"
import { on } from "node:events"
import { connect, type Socket } from "node:net"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { GatewayFixture, keyA, readHead, TestProgram } from "../testing/gateway-fixture.ts"
import { openRequest, responseOf, startRawProgram } from "../testing/requests.ts"

const ann = { authorization: "Bearer ann" }

test("a client that disconnects ends the request to the program", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const program = new TestProgram((_, response) => {
    response.on("close", resolve)
    response.writeHead(200)
    response.write("x")
  })
  await using fixture = await GatewayFixture.open({ program })
  const outgoing = openRequest(fixture, "/")
  outgoing.end()
  ;(await responseOf(outgoing)).destroy()
  await promise
})

test("a client that disconnects within its upload ends the request to the program", async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const program = new TestProgram((incoming) => {
    incoming.resume()
    incoming.on("close", () => resolve(incoming.complete))
  })
  await using fixture = await GatewayFixture.open({ program })
  const outgoing = openRequest(fixture, "/", { method: "POST", headers: { "content-length": "10" } })
  outgoing.on("error", () => {})
  outgoing.write("12345", () => outgoing.destroy())
  assert.equal(await promise, false)
})

test("a program that dies within its response closes the client's connection, so no truncated response looks complete", async () => {
  for (const headers of [{ "content-length": "10" }, {}]) {
    const program = new TestProgram((incoming, response) => {
      response.writeHead(200, headers as Record<string, string>)
      response.write("12345", () => incoming.socket.destroy())
    })
    await using fixture = await GatewayFixture.open({ program })
    await assert.rejects(fixture.ask(fixture.apps, "/run/1/", { headers: ann }), { code: "ECONNRESET" })
  }
})

test("a program that does not answer in HTTP gives 503", async () => {
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
    await using program = await startRawProgram((socket) => socket.end(reply))
    const answer = await program.fixture.ask(program.fixture.apps, "/run/1/", { headers: ann })
    assert.equal(answer.status, 503, JSON.stringify(reply.slice(0, 80)))
    assert.equal(JSON.parse(answer.text).code, "unavailable")
  }
})

test("unusual responses are forwarded: interim ones, without length, of HTTP/1.0, byte by byte", async () => {
  for (const [reply, body] of [
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok"],
    ["HTTP/1.1 200 OK\r\n\r\nto the end", "to the end"],
    ["HTTP/1.0 200\r\nContent-Length: 2\r\n\r\nok", "ok"],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;a=b\r\nok\r\n00\r\nX: y\r\n\r\n", "ok"],
  ] as const) {
    await using program = await startRawProgram(async (socket) => {
      for (const byte of reply) {
        socket.write(byte)
        await new Promise((resolve) => setImmediate(resolve))
      }
      socket.end()
    })
    const answer = await program.fixture.ask(program.fixture.apps, "/run/1/", { headers: ann })
    assert.equal(answer.status, 200)
    assert.equal(answer.text, body)
  }
})

test("an answer that comes before the upload ends is delivered", async () => {
  const program = new TestProgram((_, response) => response.writeHead(413, { connection: "close" }).end("too large"))
  await using fixture = await GatewayFixture.open({ program })
  const socket = connect(fixture.port, "127.0.0.1")
  socket.write(`POST /run/1/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nContent-Length: 1000000\r\n\r\n`)
  socket.on("error", () => {})
  const { head } = await readHead(socket)
  assert.match(head, /^HTTP\/1\.1 413/)
  socket.destroy()
})

test("connections to the program are reused, for one request at a time", async () => {
  await using fixture = await GatewayFixture.open()
  for (let i = 0; i < 5; i += 1) assert.equal((await fixture.ask(fixture.apps, "/run/1/", { headers: ann })).status, 200)
  assert.equal(fixture.program.connections, 1)
  await Promise.all(Array.from({ length: 5 }, () => fixture.ask(fixture.apps, "/run/1/", { headers: ann })))
  assert.ok(fixture.program.connections <= 5)
})

test("unsolicited bytes close an idle connection, and reach nobody", async () => {
  const connections: Socket[] = []
  await using program = await startRawProgram((socket) => {
    connections.push(socket)
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
  })
  for (let i = 0; i < 3; i += 1) assert.equal((await program.fixture.ask(program.fixture.apps, "/run/1/", { headers: ann })).text, "ok")
  assert.equal(new Set(connections).size, 3)
})

test("a `GET` on an idle connection that the program was closing is repeated", async () => {
  let count = 0
  await using program = await startRawProgram((socket, text) => {
    count += 1
    // The first request of a connection is answered, the second finds it closed.
    if (count % 2 === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    else if (text.startsWith("GET")) socket.destroy()
  })
  for (let i = 0; i < 4; i += 1) assert.equal((await program.fixture.ask(program.fixture.apps, "/run/1/", { headers: ann })).text, "ok")
})

test("a request that may have had an effect is never sent twice", async () => {
  const seen: string[] = []
  await using program = await startRawProgram((socket, text) => {
    seen.push(text.slice(0, 4))
    if (seen.length === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    else socket.destroy()
  })
  await program.fixture.ask(program.fixture.apps, "/run/1/", { headers: ann })
  const answer = await program.fixture.ask(program.fixture.apps, "/run/1/", { method: "POST", headers: ann, body: "x" })
  assert.equal(answer.status, 503)
  assert.deepEqual(seen, ["GET ", "POST"])
})

test("a run that moved receives requests at its new address only", async () => {
  await using fixture = await GatewayFixture.open()
  await using other = new TestProgram((_, response) => response.end("the new one"))
  assert.equal((await fixture.ask(fixture.apps, "/run/1/", { headers: ann })).status, 200)
  const before = fixture.program.requests.length
  fixture.runs.targets.set(keyA, { ...fixture.target, address: await other.listen() })
  assert.equal((await fixture.ask(fixture.apps, "/run/1/", { headers: ann })).text, "the new one")
  assert.equal(fixture.program.requests.length, before)
})

test("a pending request is not repeated at the old address when its run moves", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const program = new TestProgram((incoming, response) => {
    if (program.requests.length === 1) incoming.resume().on("end", () => response.end("first"))
    else resolve()
  })
  await using fixture = await GatewayFixture.open({ program })
  await fixture.ask(fixture.apps, "/run/1/", { headers: ann })
  const waiting = fixture.ask(fixture.apps, "/run/1/", { headers: ann })
  await promise
  await using other = new TestProgram((_, response) => response.end("the new one"))
  fixture.runs.targets.set(keyA, { ...fixture.target, address: await other.listen() })
  assert.equal((await fixture.ask(fixture.apps, "/run/1/", { headers: ann })).text, "the new one")
  assert.equal((await waiting).status, 503)
  assert.equal(program.requests.length, 2)
  assert.equal(program.connections, 1)
})

test("activity is reported at most once a second for each run", async () => {
  const clock = new ManualClock()
  await using fixture = await GatewayFixture.open({ clock })
  for (const expected of [1, 2]) {
    for (let i = 0; i < 5; i += 1) await fixture.ask(fixture.apps, "/run/1/", { method: "POST", headers: ann })
    assert.equal(fixture.runs.activity.length, expected)
    await clock.advance(1_000)
  }
})

test("a client that stalls in its upload or does not read is disconnected after five minutes", async () => {
  const clock = new ManualClock()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<NodeJS.AsyncIterator<unknown>>()
  const program = new TestProgram((incoming, response) => {
    if (incoming.method === "GET") response.end(Buffer.alloc(64 << 20))
    else arrive(on(incoming, "data"))
  })
  await using fixture = await GatewayFixture.open({ clock, program })
  const sending = openRequest(fixture, "/", { method: "POST", headers: { "content-length": "10000" } })
  const sendingEnd = new Promise((resolve) => sending.on("close", resolve))
  sending.on("error", () => {}).write("1")
  const chunks = await arrived
  await chunks.next()
  const reading = openRequest(fixture, "/")
  reading.end()
  const answer = (await responseOf(reading)).pause()
  const readingEnd = new Promise((resolve) => answer.on("error", resolve))
  assert.equal(fixture.gateway.openConnections, 2)
  // Bytes in the kernel's buffers may still arrive for a while.
  await eventually("who does not read is cut", async () => {
    await clock.advance(4 * 60_000)
    sending.write("2")
    await chunks.next()
    return fixture.gateway.openConnections === 1
  })
  answer.resume()
  await readingEnd
  assert.equal(sending.destroyed, false)
  await clock.advance(5 * 60_000)
  await sendingEnd
})

test("a 204 has no length, a 304 and a response to `HEAD` have theirs, and bytes after a 204 are never the next response", async () => {
  const requests: string[] = []
  await using program = await startRawProgram((socket, text) => {
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
  const { fixture } = program
  const request = (path: string, method = "GET") => fixture.ask(fixture.apps, `/run/1${path}`, { method, headers: ann })
  for (const path of ["/early", "/at-once", "/later", "/chunked"]) {
    const { status, headers, text } = await request(path)
    assert.deepEqual([status, headers["content-length"], headers["transfer-encoding"], text], [204, undefined, undefined, ""], path)
    assert.equal((await request("/next")).text, "true", path)
  }
  assert.deepEqual(await request("/304").then(({ status, headers }) => [status, headers["content-length"]]), [304, "7"])
  assert.equal((await request("/next")).text, "true")
  assert.deepEqual(await request("/head", "HEAD").then(({ status, headers }) => [status, headers["content-length"]]), [200, "7"])
  assert.equal((await request("/next")).text, "true")
})
