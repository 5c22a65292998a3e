import assert from "node:assert/strict"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { connect } from "node:net"
import { after, before, test } from "node:test"
import { promisify } from "node:util"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { basic, type RawConnection, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { RequestLimiter } from "./request-limiter.ts"

let server: TestFilesServer
/** Closes a connection after half a second without progress. */
let impatient: TestFilesServer
before(async () => {
  server = await TestFilesServer.start({ connections: { maxPerAddress: 20, maxPerPerson: 20 } })
  impatient = await TestFilesServer.start({ limits: { stallMs: 500 } })
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await impatient[Symbol.asyncDispose]()
})

const head = (method: string, path: string, more = "") =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\n${more}\r\n`

test("a client that stalls in its body is disconnected and leaves nothing", async () => {
  const upload = await impatient.raw()
  upload.write(head("PUT", "/users/ann/stalled", "Content-Length: 100\r\n"))
  upload.write("half")
  await upload.end()
  assert.equal((await impatient.ask("GET", "/users/ann/stalled")).status, 404)
})

test("a client that stops reading is disconnected", async () => {
  await impatient.ask("PUT", "/users/ann/large", { body: Buffer.alloc(30_000_000) })
  const download = await impatient.raw()
  download.socket.pause()
  const closed = new Promise((resolve) => download.socket.once("close", resolve))
  download.write(head("GET", "/users/ann/large"))
  download.socket.resume()
  await download.until("\r\n\r\n")
  download.socket.pause()
  await eventually("the server has no connection left", async () => (await openConnections(impatient)) === 0)
  download.socket.resume()
  await closed
})

test("a client that sends nothing, or never ends its headers, is disconnected", async () => {
  for (const text of ["", "GET / HTTP/1.1\r\nHost: local"]) {
    const idle = await impatient.raw()
    idle.write(text)
    await idle.end()
  }
})

test("a body that makes progress may take longer than any stall", async () => {
  const stallMs = 2_000
  await using slow = await TestFilesServer.start({ limits: { stallMs } })
  // If this process itself pauses for too long, the upload shows nothing and is repeated.
  for (let longestPauseMs = stallMs; longestPauseMs > stallMs / 2; ) {
    const upload = await slow.raw()
    upload.write(head("PUT", "/users/ann/slow", "Content-Length: 25\r\n"))
    longestPauseMs = 0
    for (let i = 0; i < 25; i += 1) {
      const sentAt = performance.now()
      upload.write("x")
      await new Promise((resolve) => setTimeout(resolve, 100))
      longestPauseMs = Math.max(longestPauseMs, performance.now() - sentAt)
    }
    const answer = await upload.until("\r\n\r\n")
    upload.socket.destroy()
    if (longestPauseMs <= stallMs / 2) assert.match(answer, /20[14] /)
  }
})

test("an address has a share of the anonymous connections: its oldest one is closed for the newest", async () => {
  await server.ask("PUT", "/users/ann/small", { body: "x" })
  await eventually("the server has no connection left", async () => (await openConnections(server)) === 0)
  const anonymous: RawConnection[] = []
  for (let i = 0; i < 20; i += 1) anonymous.push(await server.raw())
  assert.equal((await server.ask("GET", "/users/ann/small")).status, 200)
  for (const connection of anonymous) connection.write(head("GET", "/users/ann/small", "Connection: close\r\n"))
  const answers = await Promise.all(anonymous.map(async (connection) => (await connection.end()).slice(0, 12)))
  assert.deepEqual(answers, ["", ...Array(19).fill("HTTP/1.1 200")])
})

test("a person has a share of the connections: an idle one is closed for a new one, and without an idle one the new one gets 429", async () => {
  await eventually("the server has no connection left", async () => (await openConnections(server)) === 0)
  const idle = await server.raw()
  idle.write(head("GET", "/users/ann/small"))
  await idle.until("\r\n\r\n")
  const busy: RawConnection[] = []
  for (let i = 0; i < 20; i += 1) {
    const upload = await server.raw()
    upload.write(head("PUT", `/users/ann/busy-${i}`, "Content-Length: 10\r\nExpect: 100-continue\r\n"))
    assert.match(await upload.until("\r\n\r\n"), /100 Continue/)
    busy.push(upload)
  }
  await idle.end()
  const refused = await server.ask("GET", "/users/ann/small")
  assert.deepEqual([refused.status, refused.headers.connection, refused.headers["retry-after"]], [429, "close", "2"])
  for (const { socket } of busy) socket.destroy()
  await eventually("the person can connect again", async () => (await server.ask("GET", "/users/ann/small")).status === 200)
})

test("a person has a share of the requests, and a smaller one of the deep listings", () => {
  const limiter = new RequestLimiter()
  const slots = Array.from({ length: 128 }, () => limiter.acquire(1))
  assert.throws(() => limiter.acquire(1), /too many requests/)
  limiter.acquire(2)[Symbol.dispose]()
  slots.pop()?.[Symbol.dispose]()
  limiter.acquire(1)
  const deepSlots = Array.from({ length: 4 }, () => limiter.acquire(1, "deep"))
  assert.throws(() => limiter.acquire(1, "deep"), /too many requests/)
  for (const slot of deepSlots) slot[Symbol.dispose]()
  limiter.acquire(1, "deep")
})

/** Connections to the server, as the kernel lists them. */
async function openConnections({ port: decimalPort }: TestFilesServer): Promise<number> {
  const port = decimalPort.toString(16).toUpperCase().padStart(4, "0")
  const established = "01"
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n").slice(1)
  return lines.filter((line) => {
    const [, local = "", , state] = line.trim().split(/\s+/)
    return local.endsWith(`:${port}`) && state === established
  }).length
}

test("pipelined requests are answered in order, and hundreds of them close the connection", async () => {
  await server.ask("PUT", "/users/ann/ahead", { body: "x" })
  const request = async (count: number) => {
    const connection = await server.raw()
    connection.write(head("GET", "/users/ann/ahead").repeat(count) + head("GET", "/users/ann/ahead", "Connection: close\r\n"))
    return (await connection.end()).match(/HTTP\/1\.1 200 /g)?.length ?? 0
  }
  assert.equal(await request(60), 61)
  assert.ok((await request(500)) < 110)
})

test("a refusal reaches a client that continues to send, and its connection is closed, not reset", async () => {
  const socket = connect({ host: "127.0.0.1", port: server.port, allowHalfOpen: true })
  const send = promisify<Buffer | string, void>((bytes, done) => socket.write(bytes, done))
  await send(head("PUT", "/users/ann/missing/f", "Content-Length: 3000000\r\n"))
  await send(Buffer.alloc(1_000_000))
  let answer = ""
  socket.setEncoding("latin1").on("data", (text) => {
    answer += text
  })
  await once(socket, "end")
  assert.match(answer, /^HTTP\/1.1 409 .*\r\nConnection: close\r\n/s)
  await send(Buffer.alloc(1_000_000))
  await send(Buffer.alloc(1_000_000))
  socket.end()
  await once(socket, "close")
})

test("a body whose chunk extensions are too long is 400", async () => {
  const upload = await server.raw()
  upload.write(head("PUT", "/users/ann/extensions", "Transfer-Encoding: chunked\r\n"))
  upload.write(`1;${"x".repeat(20_000)}\r\na\r\n0\r\n\r\n`)
  assert.match(await upload.end(), /^HTTP\/1\.1 400 .*"code":"invalid"/s)
})

test("a client that leaves while the authority decides frees its slot for a deep listing", async () => {
  await using other = await TestFilesServer.start()
  const { access } = other.authority
  const { promise: decided, resolve: decide } = Promise.withResolvers<void>()
  let requestCount = 0
  other.authority.access = async (...question) => {
    requestCount += 1
    await decided
    return access.apply(other.authority, question)
  }
  const listings = await Promise.all(Array.from({ length: 4 }, () => other.raw()))
  for (const each of listings) each.write(head("PROPFIND", "/users/ann/", "Depth: infinity\r\nContent-Length: 100\r\n"))
  await eventually("all listings wait for the authority", () => requestCount === listings.length)
  for (const { socket } of listings) socket.destroy()
  await eventually("the server has closed their connections", async () => (await openConnections(other)) === 0)
  decide()
  await eventually("a deep listing is possible again", async () => (await other.ask("PROPFIND", "/users/ann/")).status === 207)
})
