import assert from "node:assert/strict"
import { type IncomingMessage, request } from "node:http"
import { Duplex } from "node:stream"
import { test } from "node:test"
import { ResponseParser } from "./response-parser.ts"

interface Read {
  status: number
  message: string
  headers: string[]
  body: string
  trailers: string[]
}

/**
 * Answers with less than all bytes end where they end: what follows is surplus, for which a
 * connection is given up.
 */
const used = new WeakMap<Read, number>()

/**
 * Our parser's result for these bytes, fed in pieces that end at `cuts`; undefined if it refuses
 * them or they do not end.
 */
function parsedByGateway(bytes: Buffer, method: string, cuts: number[] = []): Read | undefined {
  const parser = new ResponseParser()
  const read: Read = { status: 0, message: "", headers: [], body: "", trailers: [] }
  let isEnded = false
  parser.begin(method, {
    onHead: ({ status, message, headers }) => Object.assign(read, { status, message, headers }),
    onData: (chunk) => {
      read.body += chunk.toString("latin1")
    },
    onEnd: (trailers) => {
      isEnded = true
      read.trailers = trailers
    },
  })
  try {
    let from = 0
    for (const cut of [...cuts, bytes.length]) {
      if (cut > from && !parser.isDone) used.set(read, from + parser.feed(bytes.subarray(from, cut)))
      from = Math.max(from, cut)
    }
    parser.finish()
  } catch {
    return undefined
  }
  return isEnded ? read : undefined
}

/** The result of Node's client. */
function parsedByNode(bytes: Buffer, method: string): Promise<Read | undefined> {
  const socket = new Duplex({
    read() {},
    write: (_chunk, _encoding, done) => done(),
  })
  return new Promise((resolve) => {
    const outgoing = request({ method, createConnection: () => socket as never, maxHeaderSize: 1 << 17, headers: { connection: "close" } })
    const finish = (read: Read | undefined) => {
      resolve(read)
      socket.destroy()
    }
    outgoing.on("error", () => finish(undefined))
    outgoing.on("upgrade", () => finish(undefined))
    outgoing.on("response", (answer) => collect(answer).then(finish, () => finish(undefined)))
    outgoing.end()
    socket.push(bytes)
    socket.push(null)
  })
}

async function collect(answer: IncomingMessage): Promise<Read | undefined> {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  if (!answer.complete) return undefined
  const { statusCode: status = 0, statusMessage: message = "", rawHeaders: headers, rawTrailers: trailers } = answer
  return { status, message, headers, body: Buffer.concat(chunks).toString("latin1"), trailers }
}

/** A small seeded generator: the same cases each time. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    return Math.floor((((state ^ (state >>> 12)) >>> 0) / 2 ** 32) * below)
  }
}

const sound = [
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nT: u\r\n\r\n",
  "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end",
  "HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 204 No Content\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
]
const pieces = [
  "\r\n",
  "\n",
  "\r",
  " ",
  "\t",
  ":",
  ";",
  "0",
  "5",
  "a",
  ",",
  "\0",
  "\x7f",
  "\x80",
  "-",
  "+",
  "0x",
  "Content-Length: 3\r\n",
  "Transfer-Encoding: chunked\r\n",
  "transfer-encoding: identity\r\n",
  "HTTP/1.1 200 OK\r\n\r\n",
  "\r\n\r\n",
  "chunked",
  "close",
]

function mutate(text: string, pick: (below: number) => number): string {
  let out = text
  for (let i = 1 + pick(3); i > 0; i -= 1) {
    const at = pick(out.length + 1)
    const piece = pieces[pick(pieces.length)] as string
    const width = pick(3) === 0 ? pick(12) : pick(2)
    out = out.slice(0, at) + (pick(4) === 0 ? "" : piece) + out.slice(at + width)
  }
  return out
}

test("Node's parser accepts all mutated responses that this one accepts, and reads them alike", async () => {
  const pick = random(20260101)
  let accepted = 0
  for (let i = 0; i < 20_000; i += 1) {
    const method = pick(8) === 0 ? "HEAD" : "GET"
    const bytes = Buffer.from(mutate(sound[pick(sound.length)] as string, pick), "latin1")
    const read = parsedByGateway(bytes, method)
    if (read === undefined) continue
    accepted += 1
    assert.deepEqual(await parsedByNode(bytes.subarray(0, used.get(read)), method), read, JSON.stringify(bytes.toString("latin1")))
  }
  assert.ok(accepted > 2_000, `${accepted} were accepted`)
})

test("a response is parsed alike however it is divided into reads", () => {
  const pick = random(7)
  for (let i = 0; i < 5_000; i += 1) {
    const bytes = Buffer.from(mutate(sound[pick(sound.length)] as string, pick), "latin1")
    const whole = parsedByGateway(bytes, "GET")
    const cuts = Array.from({ length: 1 + pick(8) }, () => pick(bytes.length)).sort((a, b) => a - b)
    assert.deepEqual(parsedByGateway(bytes, "GET", cuts), whole, JSON.stringify([bytes.toString("latin1"), cuts]))
    const each = Array.from({ length: bytes.length }, (_, at) => at)
    assert.deepEqual(parsedByGateway(bytes, "GET", each), whole)
  }
})

test("well-formed responses are accepted", async () => {
  for (const text of sound) assert.deepEqual(parsedByGateway(Buffer.from(text), "GET"), await parsedByNode(Buffer.from(text), "GET"), text)
})

test("long heads, chunk lines and trailers are rejected", () => {
  const long = "a".repeat(70_000)
  for (const text of [
    `HTTP/1.1 200 OK\r\nX: ${long}\r\n\r\n`,
    `HTTP/1.1 200 OK\r\nX: ${long}`,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${long}\r\nx\r\n0\r\n\r\n`,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(500)}\r\n`,
  ]) {
    assert.equal(parsedByGateway(Buffer.from(text), "GET"), undefined)
  }
})

test("a head of more than 500 fields is rejected, also of an interim response", () => {
  const fields = (count: number) => "a:\r\n".repeat(count)
  const sound = (count: number) => `HTTP/1.1 200 OK\r\nContent-Length: 0\r\n${fields(count - 1)}\r\n`
  assert.equal(parsedByGateway(Buffer.from(sound(500)), "GET")?.headers.length, 1_000)
  assert.equal(parsedByGateway(Buffer.from(sound(501)), "GET"), undefined)
  assert.equal(parsedByGateway(Buffer.from(`HTTP/1.1 103 Early Hints\r\n${fields(501)}\r\n${sound(1)}`), "GET"), undefined)
})
