import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { after, test } from "node:test"
import { type ChannelStream, openListen } from "#channel"
import { bounds } from "#contract"
import { eventually } from "../fixtures/eventually.ts"
import { startTestServer } from "../test-server.ts"
import { connectTo } from "./control-client.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const ann = await server.person("ann")
const web = await ann.client.createImage({ body: { Name: "web", Image: "fake/http", Port: "8080" } })
const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: web.ID } })
const run = await ann.client.startRun({ body: { ProjectID: project.ID } })

/** Answers each connection with what it received, after a greeting. */
async function echo(stream: ChannelStream) {
  stream.accept()
  await stream.write(Buffer.from("hello "))
  for await (const { data } of stream) await stream.write(data)
  stream.end()
}

async function portOf(listening: ChannelStream): Promise<number> {
  return ((await listening.accepted) as { port: number }).port
}

async function answerOf(port: number, text: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true })
  socket.end(text)
  return Buffer.concat(await socket.toArray()).toString()
}

async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1")
  return once(socket, "connect").then(
    () => socket.destroy() && false,
    () => true,
  )
}

test("connections of the run's programs reach the client, many at once, until the stream is over", async () => {
  using connection = await connectTo(run.ControlURL, ann.authorization)
  const listening = openListen(connection, 0, (stream) => void echo(stream).catch(() => {}))
  const port = await portOf(listening)
  const texts = Array.from({ length: 20 }, (_, n) => String(n).repeat(20_000))
  assert.deepEqual(
    await Promise.all(texts.map((text) => answerOf(port, text))),
    texts.map((text) => `hello ${text}`),
  )
  await assert.rejects(openListen(connection, port, () => {}).accepted, {
    code: "unavailable",
    message: `Port ${port} of the run is in use`,
  })
  const open = connect(port, "127.0.0.1")
  await once(
    open.on("error", () => {}),
    "data",
  )
  listening.fail("cancelled", "")
  if (!open.closed) await once(open, "close")
  await eventually("the port is closed", () => isRefused(port))
  const { data } = await server.admin.listAudit({ query: { pageSize: 10 } })
  const rows = data.filter(({ Action }) => Action === "run.listen").map(({ Actor, Thing }) => [Actor, Thing?.ID])
  assert.deepEqual(rows, [
    ["ann", run.ID],
    ["ann", run.ID],
  ])
})

test("a person's ports open one after another, with a pause", async () => {
  using connection = await connectTo(run.ControlURL, ann.authorization)
  const begin = performance.now()
  const listening = [1, 2, 3].map(() => openListen(connection, 0, () => {}))
  await Promise.all(listening.map(portOf))
  const ms = performance.now() - begin
  assert.ok(ms >= 2 * bounds.control.listenerPauseMs.value - 50, `three ports were open after ${ms} ms`)
  for (const each of listening) each.fail("cancelled", "")
})

test("a client's refusal closes the connection, and a lost client closes all of them and the port", async () => {
  const connection = await connectTo(run.ControlURL, ann.authorization)
  const streams: ChannelStream[] = []
  const port = await portOf(openListen(connection, 0, (stream) => streams.push(stream)))
  const sockets = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")] as [Socket, Socket]
  for (const socket of sockets) socket.on("error", () => {})
  await eventually("both arrived", () => streams.length === 2)
  streams[0]?.fail("connection_refused", "")
  await Promise.race(sockets.map((socket) => once(socket, "close")))
  connection.close(1000, "")
  await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")))
  await eventually("the port is closed", () => isRefused(port))
})

test("ports of clients are bounded for each person, and are valid ones", async () => {
  using connection = await connectTo(run.ControlURL, ann.authorization)
  const max = bounds.control.listeners.value
  const all = Array.from({ length: max + 1 }, () => openListen(connection, 0, () => {}))
  await assert.rejects(Promise.all(all.map((each) => each.accepted)), { code: "too_many_streams" })
  for (const port of [-1, 65_536, 1.5]) await assert.rejects(openListen(connection, port, () => {}).accepted, { code: "invalid" })
})
