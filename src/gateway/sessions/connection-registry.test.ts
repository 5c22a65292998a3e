import assert from "node:assert/strict"
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { connect, type Socket } from "node:net"
import { test } from "node:test"
import WebSocket, { WebSocketServer } from "ws"
import { ManualClock } from "#kit"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { GatewayFixture, type GatewayFixtureOptions, keyA, keyB, navigationHeaders, TestProgram } from "../testing/gateway-fixture.ts"

/** A program that echoes WebSocket messages. */
function echoing(): TestProgram {
  const program = new TestProgram()
  const server = new WebSocketServer({ server: program.server, maxPayload: 1 << 28 })
  server.on("connection", (socket) =>
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary })).on("error", () => {}),
  )
  return program
}

const open = (options: GatewayFixtureOptions = {}) => GatewayFixture.open({ program: echoing(), ...options })

function connectTo(
  fixture: GatewayFixture,
  options: { path?: string; host?: string; headers?: Record<string, string>; origin?: string } = {},
): WebSocket {
  const { path = "/run/1/", host = fixture.apps, headers = { authorization: "Bearer ann" }, origin } = options
  const socket = new WebSocket(`ws://127.0.0.1:${fixture.port}${path}`, {
    headers: { host, ...headers },
    ...(origin === undefined ? {} : { origin }),
  })
  socket.on("error", () => {})
  return socket
}

async function opened(fixture: GatewayFixture, options: Parameters<typeof connectTo>[1] = {}): Promise<WebSocket> {
  const socket = connectTo(fixture, options)
  await once(socket, "open")
  return socket
}

test("WebSockets work at the origin and below the path, with large messages", async () => {
  await using fixture = await open()
  const { cookie } = await fixture.enter()
  for (const options of [{}, { path: "/", host: fixture.origin, headers: { cookie }, origin: `http://${fixture.origin}` }]) {
    const socket = await opened(fixture, options)
    for (const size of [1, 5_000_000]) {
      const sent = Buffer.alloc(size, "x")
      socket.send(sent)
      const [got] = (await once(socket, "message")) as [Buffer]
      assert.ok(sent.equals(got))
    }
    const closed = once(socket, "close")
    socket.close(1000, "bye")
    assert.equal((await closed)[0], 1000)
  }
})

test("bytes right behind the heads of an upgrade reach the other side", async () => {
  const program = new TestProgram()
  program.server.on("upgrade", (_, socket, head) => {
    socket.write("HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\nwelcome ")
    socket.write(head)
    socket.on("error", () => {}).pipe(socket)
  })
  await using fixture = await GatewayFixture.open({ program })
  const socket = connect(fixture.port, "127.0.0.1")
  socket.write(
    "GET /run/1/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly",
  )
  let text = ""
  while (!text.endsWith("welcome early")) text += String((await once(socket, "data"))[0])
  socket.destroy()
})

test("a client that disconnects before its upgrade is answered ends the program's connection", async () => {
  const program = new TestProgram()
  program.server.on("upgrade", (_, socket) => socket.on("error", () => {}).resume())
  await using fixture = await GatewayFixture.open({ program })
  const client = connectTo(fixture)
  const [, upstream] = (await once(program.server, "upgrade")) as [unknown, Socket]
  const ended = new Promise((resolve) => upstream.on("end", resolve))
  client.terminate()
  await ended
})

test("a page of another origin cannot open a WebSocket, even with the session's cookie", async () => {
  await using fixture = await open()
  const { cookie } = await fixture.enter()
  const tries: [Record<string, string>, number][] = [
    [{ cookie, origin: "http://evil.example" }, 403],
    [{ cookie, origin: `http://${keyB}.localhost:${fixture.port}` }, 403],
    [{ cookie, origin: "http://localhost:8080" }, 403],
    [{ cookie, origin: "null" }, 403],
    [{ cookie, origin: "null", "sec-fetch-site": "same-origin" }, 403],
    [{ cookie, origin: `http://${fixture.origin}`, "sec-fetch-site": "cross-site" }, 403],
    [{ cookie, "sec-fetch-site": "same-site" }, 403],
    [{ ...navigationHeaders, cookie, "sec-fetch-site": "cross-site" }, 403],
    [{ cookie }, 403],
    [{ origin: `http://${fixture.origin}` }, 401],
    [{ origin: `http://${fixture.origin}`, authorization: "Bearer ann" }, 401],
  ]
  for (const [headers, status] of tries) {
    const socket = connectTo(fixture, { path: "/", host: fixture.origin, headers })
    const [, answer] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage]
    assert.equal(answer.statusCode, status, JSON.stringify(headers))
    assert.equal(answer.headers["content-type"], headers.accept ? "text/html; charset=utf-8" : "application/json; charset=utf-8")
  }
  assert.equal(fixture.program.connections, 0)
})

test("the program's refusal of a WebSocket reaches the client", async () => {
  const program = new TestProgram((_, response) => response.writeHead(418, { "x-own": "1" }).end("no"))
  await using fixture = await GatewayFixture.open({ program })
  const socket = connectTo(fixture)
  const [, answer] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage]
  assert.equal(answer.statusCode, 418)
  assert.equal(answer.headers["x-own"], "1")
  assert.equal(String((await once(answer, "data"))[0]), "no")
})

test("an upgrade to a protocol that was not requested returns 503", async () => {
  for (const fields of ["Upgrade: telnet\r\n", "", "Upgrade: websocket, telnet\r\n"]) {
    const program = new TestProgram()
    program.server.on("upgrade", (_, socket) =>
      socket.on("error", () => {}).write(`HTTP/1.1 101 x\r\nConnection: Upgrade\r\n${fields}\r\n`),
    )
    await using fixture = await GatewayFixture.open({ program })
    const [, answer] = (await once(connectTo(fixture), "unexpected-response")) as [unknown, IncomingMessage]
    assert.equal(answer.statusCode, 503)
  }
})

test("an upgrade is forwarded with the run's headers, without Quayside's cookies and tokens", async () => {
  await using fixture = await open({ target: { upstreamHeaders: { Authorization: "token run" } } })
  const { cookie } = await fixture.enter()
  const upgraded = once(fixture.program.server, "upgrade")
  const socket = await opened(fixture, {
    path: "/x?y",
    host: fixture.origin,
    headers: { cookie: `${cookie}; own=1` },
    origin: `http://${fixture.origin}`,
  })
  const [incoming] = (await upgraded) as [IncomingMessage]
  assert.equal(incoming.url, "/x?y")
  assert.equal(incoming.headers.cookie, "own=1")
  assert.equal(incoming.headers.authorization, "token run")
  assert.equal(incoming.headers.host, fixture.origin)
  socket.terminate()
})

test("revoking a credential closes its thousand idle WebSockets, and no others", async () => {
  const clock = new ManualClock()
  await using fixture = await open({ clock })
  fixture.runs.rights.add("2 1")
  const own = await Promise.all(Array.from({ length: 1_000 }, () => opened(fixture)))
  const others = await opened(fixture, { headers: { authorization: "Bearer bob" } })
  const closed = Promise.all(own.map((socket) => once(socket, "close")))
  const { rightsChecks: rightsChecksOfEntry } = fixture.runs
  await clock.advance(2_000)
  await eventually("both pairs were checked", () => fixture.runs.rightsChecks === rightsChecksOfEntry + 2)
  assert.ok(own.every((socket) => socket.readyState === WebSocket.OPEN))
  const { rightsChecks: rightsChecksBefore } = fixture.runs
  fixture.runs.rights.delete("1 1")
  await clock.advance(2_000)
  await closed
  assert.ok(fixture.runs.rightsChecks - rightsChecksBefore <= 2, "one check for each pair of visitor and run, not for each socket")
  others.send("still here")
  assert.equal(String((await once(others, "message"))[0]), "still here")
  others.terminate()
})

test("revoking a credential closes a pending download", async () => {
  const clock = new ManualClock()
  const program = new TestProgram((_, response) => response.writeHead(200).write("x"))
  await using fixture = await GatewayFixture.open({ clock, program })
  const outgoing = request({
    host: "127.0.0.1",
    port: fixture.port,
    path: "/run/1/",
    headers: { host: fixture.apps, authorization: "Bearer ann" },
    agent: false,
  })
  outgoing.end()
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
  const ended = new Promise((resolve) =>
    answer
      .resume()
      .on("error", () => {})
      .on("close", resolve),
  )
  fixture.runs.rights.clear()
  await clock.advance(2_000)
  await ended
  assert.equal(answer.complete, false)
})

test("a run's WebSockets close when it ends or moves", async () => {
  for (const change of [
    (fixture: GatewayFixture) => fixture.runs.targets.delete(keyA),
    (fixture: GatewayFixture) => fixture.runs.targets.set(keyA, { ...fixture.target, address: { host: "127.0.0.1", port: 1 } }),
    (fixture: GatewayFixture) => fixture.runs.targets.set(keyA, { ...fixture.target, id: 2 }),
  ]) {
    const clock = new ManualClock()
    await using fixture = await open({ clock })
    const socket = await opened(fixture)
    change(fixture)
    const closed = once(socket, "close")
    await clock.advance(2_000)
    await closed
  }
})

test("the WebSockets of a stopping run stay open until it has ended", async () => {
  const clock = new ManualClock()
  await using fixture = await open({ clock })
  const socket = await opened(fixture)
  fixture.runs.targets.set(keyA, { ...fixture.target, address: undefined, state: "stopping" })
  await clock.advance(2_000)
  socket.send("bye")
  assert.equal(String((await once(socket, "message"))[0]), "bye")
  socket.terminate()
})

test("while rights cannot be checked, WebSockets stay open for a minute, and new sessions get 503", async () => {
  const clock = new ManualClock()
  await using fixture = await open({ clock })
  const socket = await opened(fixture)
  fixture.runs.mayOpenAnswer = async () => {
    throw new Error("the other part restarts")
  }
  await clock.advance(58_000)
  assert.equal((await fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer ann" } })).status, 200)
  fixture.runs.rights.add("2 1")
  const unknown = await fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer bob" } })
  assert.equal(unknown.status, 503)
  assert.equal(socket.readyState, WebSocket.OPEN)
  const closed = once(socket, "close")
  await clock.advance(2_000)
  await closed
})

test("a check without an answer does not count as positive", { timeout: 20_000 }, async () => {
  await using fixture = await open()
  fixture.runs.mayOpenAnswer = () => new Promise(() => {})
  const answer = await fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer ann" } })
  assert.equal(answer.status, 503)
})

test("a visitor has a maximum of open requests and WebSockets at a run", async () => {
  await using fixture = await open({ maxOpenPerVisitor: 3 })
  const sockets = await Promise.all([1, 2, 3].map(() => opened(fixture)))
  const answer = await fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer ann" } })
  assert.equal(answer.status, 429)
  assert.equal(JSON.parse(answer.text).code, "too_many_requests")
  for (const socket of sockets) socket.terminate()
})

test("a session whose visitor lost the right is refused after the next check", async () => {
  const clock = new ManualClock()
  await using fixture = await open({ clock })
  const { cookie } = await fixture.enter()
  const request = () => fixture.ask(fixture.origin, "/", { headers: { ...navigationHeaders, cookie } })
  assert.equal((await request()).status, 200)
  fixture.runs.rights.clear()
  await clock.advance(2_000)
  assert.equal((await request()).status, 403)
  await clock.advance(10_000)
  assert.equal((await request()).status, 302)
  assert.equal((await fixture.ask(fixture.origin, "/", { headers: { cookie } })).status, 401)
})

test("closing lets requests finish, accepts no connections and closes WebSockets", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const program = new TestProgram(async (_, response) => {
    await promise
    response.end("finished")
  })
  const server = new WebSocketServer({ server: program.server })
  server.on("connection", (socket) => socket.on("error", () => {}))
  await using fixture = await GatewayFixture.open({ program })
  const socket = await opened(fixture)
  const dropped = once(socket, "close")
  const pending = fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer ann" } })
  await once(program.server, "request")
  const closing = fixture.gateway.close({ deadlineMs: 60_000 })
  await assert.rejects(fixture.ask(fixture.apps, "/healthz"), { code: "ECONNREFUSED" })
  resolve()
  assert.equal((await pending).text, "finished")
  await closing
  await dropped
})

test("closing does not wait longer than its deadline", async () => {
  const program = new TestProgram(() => {})
  await using fixture = await GatewayFixture.open({ program })
  const pending = fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer ann" } })
  await once(program.server, "request")
  const rejected = assert.rejects(pending)
  await fixture.gateway.close({ deadlineMs: 10 })
  await rejected
})

test("if one address cannot be opened, none stays open", async () => {
  await using fixture = await open()
  const { port } = fixture
  await assert.rejects(
    fixture.gateway.listen([
      { host: "127.0.0.2", port: 0 },
      { host: "127.0.0.1", port },
    ]),
    { code: "EADDRINUSE" },
  )
})
