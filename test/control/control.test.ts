import assert from "node:assert/strict"
import { on, once } from "node:events"
import { after, test } from "node:test"
import { queryObjects } from "node:v8"
import { WebSocket } from "ws"
import { type ChannelStream, connectControl, controlProtocols, openExec, openFileCopy, openForward, openShell, StreamError } from "#channel"
import { bounds } from "#contract"
import { sharedTurnBudget } from "#http"
import { eventually } from "../fixtures/eventually.ts"
import { countTurns, isFirstOfTurn } from "../fixtures/turns.ts"
import { type Person, startTestServer } from "../test-server.ts"
import { connectTo, readUntil, refusalOf, runToEnd } from "./control-client.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const ann = await server.person("ann")
const web = await ann.client.createImage({ body: { Name: "web", Image: "fake/http", Port: "8080" } })
const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: web.ID } })
const run = await ann.client.startRun({ body: { ProjectID: project.ID } })
const text = (data: string) => new TextEncoder().encode(data)

test("a program runs with its arguments, input, both outputs and exit code", async () => {
  using connection = await connectTo(run.ControlURL, ann.authorization)
  assert.deepEqual(await runToEnd(openExec(connection, { command: ["sh", "-c", "echo out; warn err; exit 3"] })), {
    stdout: "out\n",
    stderr: "err\n",
    exitCode: 3,
  })
  assert.equal((await runToEnd(openExec(connection, { command: ["cat"] }), "grüße")).stdout, "grüße")
  assert.match((await runToEnd(openExec(connection, { command: ["env"], env: { A: "1" } }))).stdout, /^A=1$/m)
  const missing = openExec(connection, { command: ["no-such"] })
  await assert.rejects(missing.exited, { code: "command_not_found" })
})

test("a shell has a terminal of the client's size, and returns after a lost connection", async () => {
  const first = await connectTo(run.ControlURL, ann.authorization)
  const shell = openShell(first, { terminal: { columns: 100, rows: 30 } })
  const { session } = await shell.started
  await readUntil(shell, "$ ")
  await shell.write(text("stty size\r"))
  await readUntil(shell, "30 100")
  shell.resize({ columns: 50, rows: 20 })
  await shell.write(text("stty size\r"))
  await readUntil(shell, "20 50")
  first.close(1000, "")
  await assert.rejects(shell.exited, { code: "connection_lost" })
  using second = await connectTo(run.ControlURL, ann.authorization)
  const again = openShell(second, { session: session as string })
  assert.equal((await again.started).session, session)
  assert.match(await readUntil(again, "20 50"), /30 100/)
  await again.write(text("exit 7\r"))
  assert.equal((await runToEnd(again)).exitCode, 7)
})

test("a forwarded connection reaches the program, and a closed port is refused", async () => {
  using connection = await connectTo(run.ControlURL, ann.authorization)
  const stream = openForward(connection, 8080)
  await stream.accepted
  await stream.write(text("GET /echo HTTP/1.0\r\n\r\n"))
  stream.end()
  let answer = ""
  for await (const { data } of stream) answer += Buffer.from(data).toString()
  assert.match(answer, /^HTTP\/1.1 200/)
  await assert.rejects(openForward(connection, 9).accepted, (error) => error instanceof StreamError && error.code === "connection_refused")
})

test("`ControlURL` is the control channel's address for people who may control a run that has a container, else empty", async () => {
  const [bob, cat] = [await server.person("bob"), await server.person("cat")]
  await server.acquaint(ann, bob, cat)
  await ann.client.createGrant({ body: { RunID: run.ID, UserName: "bob", Access: "write" } })
  await ann.client.createGrant({ body: { RunID: run.ID, UserName: "cat", Access: "use" } })
  const urlFor = async ({ client }: Person) => (await client.readRun({ query: { ID: run.ID } })).ControlURL
  const { host } = new URL(server.quayside.baseUrl)
  assert.deepEqual(
    [run.ControlURL, await urlFor(ann), await urlFor(bob), await urlFor(cat)],
    [`ws://${host}/control?ID=${run.ID}`, run.ControlURL, run.ControlURL, ""],
  )
  const other = await ann.client.startRun({
    body: { ProjectID: (await ann.client.createProject({ body: { ProjectName: "q", Type: "http", ImageID: web.ID } })).ID },
  })
  await ann.client.stopRun({ query: { ID: other.ID } })
  assert.equal((await ann.client.readRun({ query: { ID: other.ID } })).ControlURL, "")
  assert.equal(await refusalOf(other.ControlURL, { authorization: ann.authorization }), "409 conflict")
})

test("a control connection needs the right to control the run, and a proof that allows writing", async () => {
  const [eve, dan] = [await server.person("eve"), await server.person("dan")]
  await server.acquaint(ann, dan)
  await ann.client.createGrant({ body: { RunID: run.ID, UserName: "dan", Access: "use" } })
  const tokenOf = async (Scopes: string[]) => `Bearer ${(await ann.client.createToken({ body: { Name: "t", Scopes } })).Token}`
  const refused = (authorization: string, headers = {}) => refusalOf(run.ControlURL, { authorization, ...headers })
  assert.equal(await refused(eve.authorization), "404 not_found")
  assert.equal(await refused(dan.authorization), "403 forbidden")
  assert.equal(await refused(await tokenOf(["read"])), "403 forbidden")
  assert.equal(await refused(await tokenOf([`run:${run.ID}`])), "403 forbidden")
  assert.equal(await refused("Bearer qs_none"), "401 unauthorized")
  assert.equal(await refusalOf(run.ControlURL, {}), "401 unauthorized")
  assert.equal(await refused(ann.authorization, { origin: "https://elsewhere.example" }), "403 forbidden")
  assert.equal(await refusalOf(run.ControlURL, { authorization: ann.authorization }, ["other"]), "400 invalid")
  assert.equal(await refusalOf(run.ControlURL.replace(/\d+$/, "x"), { authorization: ann.authorization }), "400 invalid")
  assert.equal(await refusalOf(run.ControlURL.replace(/\d+$/, "999"), { authorization: ann.authorization }), "404 not_found")
})

test("a browser's session opens a control connection from the base URL's own pages only", async () => {
  const { baseUrl } = server.quayside
  const signedIn = await fetch(`${baseUrl}/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: baseUrl },
    body: JSON.stringify({ UserName: "ann", Password: ann.password }),
  })
  const cookie = (signedIn.headers.get("set-cookie") ?? "").replace(/;.*/, "")
  assert.notEqual(cookie, "")
  assert.equal(await refusalOf(run.ControlURL, { cookie }), "403 forbidden")
  assert.equal(await refusalOf(run.ControlURL, { cookie, origin: "http://x.localhost:8081" }), "403 forbidden")
  using connection = await connectTo(run.ControlURL, undefined, { cookie, origin: baseUrl })
  assert.equal((await runToEnd(openExec(connection, { command: ["echo", "hi"] }))).stdout, "hi\n")
})

test("a control connection is cut within 5 s of the end of its right or proof, and its programs end", async () => {
  const { Token, ID } = await ann.client.createToken({ body: { Name: "short" } })
  const withToken = await connectTo(run.ControlURL, `Bearer ${Token}`)
  const fay = await server.person("fay")
  await server.acquaint(ann, fay)
  const grant = await ann.client.createGrant({ body: { RunID: run.ID, UserName: "fay", Access: "write" } })
  const withGrant = await connectTo(run.ControlURL, fay.authorization)
  const program = openExec(withGrant, { command: ["yes"] })
  await program.started
  const shell = openShell(withGrant)
  const { session = "" } = await shell.started
  const lost = await connectTo(run.ControlURL, fay.authorization)
  const detached = openShell(lost)
  const { session: waiting = "" } = await detached.started
  lost.close(1000, "")
  await ann.client.deleteToken({ query: { ID } })
  await ann.client.deleteGrant({ query: { ID: grant.ID } })
  const began = Date.now()
  const reasons = await Promise.all([withToken.closed, withGrant.closed])
  assert.ok(Date.now() - began < 5_000)
  assert.match(reasons.map(({ message }) => message).join(), /The right to control this run.*The right to control this run/)
  await assert.rejects(program.exited, { code: "connection_lost" })
  assert.equal(await refusalOf(run.ControlURL, { authorization: `Bearer ${Token}` }), "401 unauthorized")
  // A shell that still waits for the end of its right is found, and loses it once more.
  const hasEnded = async (id: string) => {
    const again = await ann.client.createGrant({ body: { RunID: run.ID, UserName: "fay", Access: "write" } })
    const connection = await connectTo(run.ControlURL, fay.authorization)
    const code = await openShell(connection, { session: id }).started.then(
      () => "found",
      (error: StreamError) => error.code,
    )
    await ann.client.deleteGrant({ query: { ID: again.ID } })
    await connection.closed
    return code === "not_found"
  }
  for (const id of [session, waiting]) await eventually("the shell has ended", () => hasEnded(id), 60_000)
})

test("a control connection is cut when its token expires", async () => {
  const { Token } = await ann.client.createToken({ body: { Name: "soon", ExpiresAt: new Date(Date.now() + 1_500).toISOString() } })
  const connection = await connectTo(run.ControlURL, `Bearer ${Token}`)
  const program = openExec(connection, { command: ["yes"] })
  await program.started
  assert.match((await connection.closed).message, /The right to control this run/)
  await assert.rejects(program.exited, { code: "connection_lost" })
})

test("each shell and program is an audit row of its person", async () => {
  using connection = await connectTo(run.ControlURL, ann.authorization)
  await runToEnd(openExec(connection, { command: ["true"] }))
  const shell = openShell(connection)
  await shell.started
  shell.cancel()
  const { data } = await server.admin.listAudit({ query: { pageSize: 10 } })
  const rows = data.filter(({ Action }) => /^run\.(exec|shell)$/.test(Action)).map((row) => [row.Actor, row.Action, row.Thing?.ID])
  assert.deepEqual(rows.slice(0, 2), [
    ["ann", "run.shell", run.ID],
    ["ann", "run.exec", run.ID],
  ])
})

test("garbage ends one stream, and messages that are no frames the connection", async () => {
  const socket = new WebSocket(run.ControlURL, [...controlProtocols], { headers: { authorization: ann.authorization } })
  const connection = await connectControl(socket)
  const [good, bad] = [openExec(connection, { command: ["cat"] }), openExec(connection, { command: ["cat"] })]
  await Promise.all([good.started, bad.started])
  socket.send(Buffer.from([77, 0, 0, 0, bad.stream.id, 1, 2, 3]))
  await assert.rejects(bad.exited, { code: "protocol_error" })
  assert.equal((await runToEnd(good, "still here")).stdout, "still here")
  for (const [options, message] of [
    [{ command: [] }, /command must be a list/],
    [{ command: ["env"], env: { "a=b": "" } }, /env must be an object/],
    [{ command: ["env"], workDir: "here" }, /workDir must be an absolute path/],
    [{ command: ["env"], workDir: "//tmp/../proc/self/fd/7" }, /must not be below \/proc/],
    [{ command: ["env"], terminal: { columns: 0, rows: 1 } }, /from 1 to 1000/],
    [{ command: ["x".repeat(40_000)] }, /at most 32768 bytes/],
  ] as const) {
    await assert.rejects(connection.open("exec", options).done, { code: "invalid", message })
  }
  await assert.rejects(connection.open("fly").done, { code: "invalid", message: /kind must be one of exec, shell/ })
  await assert.rejects(openForward(connection, 70_000).done, { code: "invalid" })
  await assert.rejects(openShell(connection, { session: "none" }).started, { code: "not_found" })
  const closed = once(socket, "close")
  socket.send("text")
  assert.equal((await closed)[0], 4400)
})

test("the rest of a file is copied from a place within its bounds only, and into a run at whole blocks", async () => {
  using connection = await connectTo(run.ControlURL, ann.authorization)
  const refused = (direction: "in" | "out", offset: unknown) =>
    assert.rejects(openFileCopy(connection, direction, { path: "/tmp/a", offset: offset as number }).accepted, {
      code: "invalid",
      message: /^offset must be an integer from 0 to \d+/,
    })
  for (const offset of [-1, 0.5, 2 ** 44 + 2 ** 20, 2 ** 53, null, "0", "1; reboot", [0], {}]) {
    await refused("in", offset)
    await refused("out", offset)
  }
  await refused("in", 2 ** 20 + 1)
})

test("a shell belongs to its person, and a second connection takes it over", async () => {
  const gil = await server.person("gil")
  await server.acquaint(ann, gil)
  await ann.client.createGrant({ body: { RunID: run.ID, UserName: "gil", Access: "write" } })
  using first = await connectTo(run.ControlURL, ann.authorization)
  using second = await connectTo(run.ControlURL, ann.authorization)
  using foreign = await connectTo(run.ControlURL, gil.authorization)
  const shell = openShell(first)
  const { session = "" } = await shell.started
  await assert.rejects(openShell(foreign, { session }).started, { code: "not_found" })
  const taken = openShell(second, { session })
  await assert.rejects(shell.exited, { code: "taken_over" })
  await taken.write(text("echo mine\r"))
  await readUntil(taken, "\r\nmine")
  taken.cancel()
  await eventually("the shell ended", () =>
    openShell(second, { session })
      .started.then(Boolean, () => false)
      .then((isThere) => !isThere),
  )
})

test("a person has a bounded number of control connections", async () => {
  const open = await Promise.all(
    Array.from({ length: bounds.control.connections.value }, () => connectTo(run.ControlURL, ann.authorization)),
  )
  assert.equal(await refusalOf(run.ControlURL, { authorization: ann.authorization }), "429 too_many_requests")
  const isFree = () =>
    connectTo(run.ControlURL, ann.authorization).then(
      (connection) => open.push(connection) > 0,
      () => false,
    )
  open[0]?.close(1000, "")
  await eventually("one is free", isFree)
  for (const connection of open) connection.close(1000, "")
  await eventually("all are free", async () => (await isFree()) && (await isFree()))
  for (const connection of open) connection.close(1000, "")
})

test("the output of one person's programs, shells and forwarded connections counts against the budget of a turn", async (t) => {
  using connection = await connectTo(run.ControlURL, ann.authorization)
  const lost = await connectTo(run.ControlURL, ann.authorization)
  const turns = countTurns(t, (await ann.client.readUser({ query: { UserName: "ann" } })).ID)
  const shell = openShell(lost)
  await shell.started
  await shell.write(text("yes\r"))
  lost.close(1000, "")
  const programs = Array.from({ length: 16 }, () => openExec(connection, { command: ["yes"] }))
  await Promise.all(
    programs.map(async (program) => {
      let length = 0
      for await (const { data } of program.output) {
        length += data.length
        if (length > 60_000) break
      }
      program.cancel()
    }),
  )
  turns.assertMoved(16 * 60_000)
})

test("thousands of short frames in one read of the socket are handled in turns, those of one connection too", async (t) => {
  const frames = 2_000
  for (const count of [1, 3]) {
    const sockets = await Promise.all(Array.from({ length: count }, () => openSocket()))
    const spend = sharedTurnBudget.spend.bind(sharedTurnBudget)
    let [ofTurn, most] = [0, 0]
    const counted = t.mock.method(sharedTurnBudget, "spend", (...read: Parameters<typeof spend>) => {
      if (isFirstOfTurn(spend)) ofTurn = 0
      ofTurn += 1
      most = Math.max(most, ofTurn)
      return spend(...read)
    })
    const answers = sockets.map(async (socket) => {
      let answered = 0
      for await (const [message] of on(socket, "message")) {
        assert.equal(message[0], 7)
        answered += 1
        if (answered === frames) return
      }
    })
    for (const socket of sockets) for (let i = 0; i < frames; i += 1) socket.send(unknownStream(2 * i + 1))
    await Promise.all(answers)
    counted.mock.restore()
    for (const socket of sockets) socket.close()
    assert.ok(most > 0 && most <= 80, `${most} frames in one turn`)
  }
})

test("pongs and parts of messages without end count against the budget of a turn", async (t) => {
  const sockets = await Promise.all([1, 2].map(() => openSocket()))
  const turns = countTurns(t, (await ann.client.readUser({ query: { UserName: "ann" } })).ID)
  const last = unknownStream(1)
  const answers = Promise.all(sockets.map((socket) => once(socket, "message")))
  for (const socket of sockets) {
    for (let i = 0; i < 20_000; i += 1) socket.pong()
    for (let i = 0; i < 15; i += 1) socket.send(last.subarray(i, i + 1), { fin: false })
    socket.send(last.subarray(15), { fin: true })
  }
  await answers
  turns.assertMoved(2 * 20_000 * 6)
  for (const socket of sockets) socket.close()
})

test("a message that waits holds no memory of what was read with it, and has few parts", async () => {
  const socket = await openSocket()
  const heldBytes = () => {
    // Collects garbage.
    queryObjects(Promise, { format: "count" })
    return process.memoryUsage().arrayBuffers
  }
  const count = 400
  const filler = Buffer.concat([Buffer.of(9, 0, 0, 0, 0), Buffer.alloc(60_000)])
  const before = heldBytes()
  socket.send(Buffer.from(`\u0001\0\0\0\u0001${JSON.stringify({ kind: "stats" })}`))
  for (let i = 0; i < count; i += 1) {
    socket.send(Buffer.of(3, 0, 0, 0, 1, 0, i & 255))
    socket.send(filler)
  }
  socket.send(unknownStream(3))
  for await (const [message] of on(socket, "message")) if (message[0] === 7) break
  const held = heldBytes() - before
  assert.ok(held < (count * 60_000) / 4, `${held} bytes are held by ${count} messages of one byte`)
  for (let i = 0; i < 17; i += 1) socket.send(Buffer.of(9), { fin: false })
  const [status] = await once(socket, "close", { signal: AbortSignal.timeout(5_000) })
  assert.equal(status, 1008)
})

/** A request for a stream, which is refused. */
function unknownStream(id: number): Buffer {
  return Buffer.concat([Buffer.of(1, 0, 0, id >> 8, id & 255), Buffer.from('{"kind":"unknown"}')])
}

test("the output that a returning client receives counts against the budget of a turn", async (t) => {
  using connection = await connectTo(run.ControlURL, ann.authorization)
  const shell = openShell(connection)
  const { session = "" } = await shell.started
  await shell.write(text("yes\r"))
  let length = 0
  for await (const { data } of shell.output) {
    length += data.length
    if (length > bounds.control.scrollBackBytes.value) break
  }
  await shell.write(text("\u0003"))
  const turns = countTurns(t, (await ann.client.readUser({ query: { UserName: "ann" } })).ID)
  for (let i = 0; i < 8; i += 1) await openShell(connection, { session }).started
  turns.assertMoved(8 * bounds.control.scrollBackBytes.value)
})

test("a server that stops closes control connections and ends their shells", async () => {
  const connection = await connectTo(run.ControlURL, ann.authorization)
  const { session = "" } = await openShell(connection).started
  await server.restart()
  assert.match((await connection.closed).message, /The service stops/)
  await eventually("the run is back", async () => (await ann.client.readRun({ query: { ID: run.ID } })).State === "ready")
  using again = await connectTo(run.ControlURL, ann.authorization)
  await assert.rejects(openShell(again, { session }).started, { code: "not_found" })
})

test("reads of a run's output count against the rate of a person's streams", async () => {
  await using limited = await startTestServer({ "streams-per-minute": "3" })
  const person = await limited.person("ida")
  const own = await person.client.createImage({ body: { Name: "web", Image: "fake/http" } })
  const { ID: ProjectID } = await person.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: own.ID } })
  const { ControlURL } = await person.client.startRun({ body: { ProjectID } })
  using connection = await connectTo(ControlURL, person.authorization)
  const reads = Array.from({ length: 5 }, () =>
    connection.open("logs").done.then(
      () => "read",
      ({ code }) => code,
    ),
  )
  assert.deepEqual((await Promise.all(reads)).sort(), ["read", "read", "read", "too_many_requests", "too_many_requests"])
})

test("a run's output and figures are JSON lines, and the output ends with the run", async () => {
  const { ID: ProjectID } = await ann.client.createProject({ body: { ProjectName: "figures", Type: "http", ImageID: web.ID } })
  const { ID, ControlURL } = await ann.client.startRun({ body: { ProjectID } })
  using connection = await connectTo(ControlURL, ann.authorization)
  for (const options of [{ tail: -1 }, { tail: 10_001 }, { tail: "1" }, { follow: 1 }])
    await assert.rejects(connection.open("logs", options).done, { code: "invalid" })
  const nextLine = async (stream: ChannelStream) => JSON.parse(Buffer.from((await stream.read())?.data ?? []).toString())
  const stats = connection.open("stats")
  const sample = await nextLine(stats)
  assert.ok(sample.memory > 0, JSON.stringify(sample))
  // Its right was judged a moment ago, so it is not cut before the output ends.
  using other = await connectTo(ControlURL, ann.authorization)
  const logs = other.open("logs", { tail: 1, follow: true })
  assert.partialDeepStrictEqual(await nextLine(logs), { stream: "stdout", text: "fake/http started, port 8080" })
  await ann.client.stopRun({ query: { ID } })
  await logs.done
  await assert.rejects(stats.done, { code: "connection_lost" })
})

test("programs count against the rate of a person's writes", async () => {
  await using limited = await startTestServer({ "writes-per-minute": "6" })
  const person = await limited.person("hal")
  const own = await person.client.createImage({ body: { Name: "web", Image: "fake/http" } })
  const { ID: ProjectID } = await person.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: own.ID } })
  const { ControlURL } = await person.client.startRun({ body: { ProjectID } })
  using connection = await connectTo(ControlURL, person.authorization)
  const programs = Array.from({ length: 10 }, () => runToEnd(openExec(connection, { command: ["true"] })).catch(({ code }) => code))
  assert.ok((await Promise.all(programs)).includes("too_many_requests"))
})

/** A connection without a multiplexer. */
async function openSocket(): Promise<WebSocket> {
  const socket = new WebSocket(run.ControlURL, [...controlProtocols], { headers: { authorization: ann.authorization } })
  await once(socket, "open")
  return socket
}
