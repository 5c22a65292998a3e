import assert from "node:assert/strict"
import { once } from "node:events"
import { IncomingMessage, ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { after, test } from "node:test"
import { queryObjects } from "node:v8"
import { silentLogger } from "#kit"
import { eventually } from "../fixtures/eventually.ts"
import { startTestServer } from "../test-server.ts"
import { sendRequest } from "./http-client.ts"

const lines: string[] = []
const server = await startTestServer({}, silentLogger, (line) => lines.push(line))
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const ann = await server.person("ann")

const requestHead = (path: string, more = "") =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${ann.authorization}\r\n${more}\r\n`

/** A connection that follows events; `text` is all that it has received. */
async function follow(head = requestHead("/events")): Promise<Socket & { text: string }> {
  const socket = Object.assign(connect({ host: "127.0.0.1", port: Number(new URL(baseUrl).port) }), { text: "" })
  socket.on("error", () => {})
  socket.on("data", (chunk) => {
    socket.text += chunk
  })
  socket.write(head)
  await eventually("the stream begins", () => /\r\n\r\nretry: 2000\n/.test(socket.text))
  return socket
}

async function activeRequests(): Promise<number> {
  const { text } = await sendRequest(baseUrl, "GET", "/metrics")
  return Number(/^quayside_http_requests_under_way (\d+)$/m.exec(text)?.[1])
}

test("an event stream retains its socket and releases its request", async () => {
  const count = () => [ServerResponse, IncomingMessage].map((each) => queryObjects(each, { format: "count" }))
  const before = count()
  const sockets = []
  for (let i = 0; i < 20; i += 1) sockets.push(await follow())
  const now = count()
  for (const [i, number] of now.entries()) assert.ok(number < (before[i] as number) + 5, `${before} before, ${now} with 20 streams`)
  for (const socket of sockets) socket.destroy()
})

test("an event stream's headers close the connection and forbid caching", async () => {
  const socket = await follow(requestHead("/events", "X-Request-ID: mine\r\n"))
  const [status, ...fields] = socket.text.slice(0, socket.text.indexOf("\r\n\r\n")).split("\r\n")
  socket.destroy()
  assert.equal(status, "HTTP/1.1 200 OK")
  const expected = ["cache-control: no-store", "connection: close", "content-type: text/event-stream; charset=utf-8", "x-request-id: mine"]
  const others = ["x-accel-buffering: no", "x-content-type-options: nosniff"]
  assert.deepEqual(
    fields
      .map((field) => field.toLowerCase())
      .filter((field) => !field.startsWith("date: "))
      .sort(),
    [...expected, ...others].sort(),
  )
  assert.ok(fields.some((field) => Math.abs(Date.parse(field.replace(/^date: /, "")) - Date.now()) < 60_000))
  await eventually("it is logged", () => lines.some((line) => line.includes('"requestId":"mine"')))
  const { status: logged, path } = JSON.parse(lines.find((line) => line.includes('"requestId":"mine"')) as string)
  assert.deepEqual([logged, path], [200, "/events"])
})

test("an event stream counts as active until either side ends its connection", async () => {
  await eventually("no stream is counted", async () => (await activeRequests()) === 1)
  const [one, two] = [await follow(), await follow()]
  assert.equal(await activeRequests(), 3)
  one.destroy()
  await eventually("one stream is counted", async () => (await activeRequests()) === 2)
  // A reader that closes its sending side counts as disconnected.
  two.end()
  await once(two, "close")
  await eventually("no stream is counted", async () => (await activeRequests()) === 1)
})

test("extra bytes on an event stream close the connection and are not parsed", async () => {
  const request = requestHead("/image?ID=77")
  const together = connect({ host: "127.0.0.1", port: Number(new URL(baseUrl).port) })
  together.on("error", () => {})
  together.resume()
  together.write(requestHead("/events") + request)
  await eventually("the connection is closed", () => together.closed)
  const later = await follow()
  later.write(request)
  await eventually("the connection is closed", () => later.closed)
  const broken = await follow()
  broken.write("\r\n\r\nno HTTP\r\n\r\n")
  await eventually("the connection is closed", () => broken.closed)
  assert.doesNotMatch(later.text + broken.text, /HTTP\/1.1 (?!200)/)
  assert.ok(!lines.some((line) => line.includes('"/image"')), "it was not answered")
  await eventually("no stream is counted", async () => (await activeRequests()) === 1)
})

test("an event stream can follow other requests on its connection", async () => {
  const socket = await follow(requestHead("/whoami") + requestHead("/whoami") + requestHead("/events"))
  assert.deepEqual(socket.text.match(/HTTP\/1.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 200"])
  const { ID } = await ann.client.createImage({ body: { Name: "a", Image: "b" } })
  await eventually("the event of the image arrives", () => socket.text.endsWith(`event: image.created\ndata: {"ID":${ID}}\n\n`))
  socket.destroy()
})

test("stopping the server flushes and ends event streams", async () => {
  const socket = await follow()
  const closed = once(socket, "close")
  const { ID } = await ann.client.createImage({ body: { Name: "a", Image: "b" } })
  await eventually("the event of the image arrives", () => socket.text.endsWith(`data: {"ID":${ID}}\n\n`))
  await Promise.all([server.restart(), closed])
})
