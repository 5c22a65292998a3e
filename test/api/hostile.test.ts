import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import { after, test } from "node:test"
import { basicAuth } from "#client"
import { type Endpoint, endpoints } from "#contract"
import { adminPassword, startTestServer } from "../test-server.ts"
import { isFailure, type SendOptions, sendRaw, sendRequest } from "./http-client.ts"
import { sendRandomRequests } from "./random-requests.ts"

const testServer = await startTestServer()
after(() => testServer[Symbol.asyncDispose]())
const { baseUrl } = testServer.quayside
const admin = basicAuth("admin", adminPassword)
const call = (method: string, path: string, options: SendOptions = {}) => sendRequest(baseUrl, method, path, { as: admin, ...options })
const table = Object.values(endpoints) as Endpoint[]
/** These are slow on purpose, or revoke the test's own credentials. */
const left = ["/session", "/user", "/token"]

const strange: unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  -0,
  1.5,
  2 ** 31,
  2 ** 53,
  1e308,
  "",
  " ",
  "\u0000",
  "\ud800",
  "a".repeat(5_000),
  "../../etc/passwd",
  "{port}",
  "'; drop table images; --",
  [],
  {},
  [[[]]],
  { ID: -1 },
  { ID: 2 ** 53 },
  [{ Data: {} }],
  [{ ID: null }],
  { __proto__: null, constructor: 1 },
  "9007199254740993",
  "１",
  "%00",
]

test("strange values in every field of every body never cause a server error", async () => {
  for (const { method, path, body } of table) {
    if (!body || left.includes(path)) continue
    for (const name of ["ID", ...Object.keys(body.fields)]) {
      const answers = await Promise.all(
        strange.map((value) =>
          call(method, path, {
            body: JSON.stringify({ ID: 1, Name: "a", Image: "b", ProjectName: "a", Type: "http", ImageID: 1, [name]: value }),
          }),
        ),
      )
      for (const [i, answer] of answers.entries()) {
        assert.ok(answer.status < 500, `${method} ${path} ${name}: ${JSON.stringify(strange[i])} got ${answer.text}`)
        assert.ok(answer.status === 200 || isFailure(answer))
      }
    }
  }
})

test("strange values of every parameter never cause a server error", async () => {
  const texts = [
    "",
    "%",
    "%00",
    "%ED%A0%80",
    "%ff",
    "+",
    "&",
    "=",
    "a%26b",
    "1e9",
    "-1",
    "9007199254740993",
    "0x1",
    "null",
    "[]",
    "1'--",
    "%F0%9F%98%80",
    "x".repeat(3_000),
  ]
  for (const { method, path, query } of table) {
    if (method !== "GET") continue
    for (const name of [...Object.keys(query), "__proto__", "constructor", "ID[]", "%00"]) {
      const answers = await Promise.all(texts.map((text) => call("GET", `${path}?${name}=${text}`)))
      for (const answer of answers)
        assert.ok(answer.status < 500 && (answer.status === 200 || isFailure(answer)), `${path}?${name}: ${answer.text.slice(0, 300)}`)
    }
  }
})

test("numbers beyond the range of JSON are rejected like any wrong number", async () => {
  for (const number of ["1e400", "-1e400", "9007199254740993", "123456789012345678901234567890", "0.1"]) {
    const answer = await call("PUT", "/image", { body: `{"ID":${number}}` })
    assert.deepEqual([answer.status, answer.body.field], [400, "ID"], number)
  }
})

test("the server survives wrong lengths and interrupted bodies", async () => {
  const head = (more: string) =>
    `POST /image HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${admin}\r\nContent-Type: application/json\r\n${more}\r\n\r\n`
  const body = '{"Name":"a","Image":"b"}'
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  assert.match(
    await sendRaw(
      baseUrl,
      head("Transfer-Encoding: chunked\r\nConnection: close") + chunk(body.slice(0, 9)) + chunk(body.slice(9)) + chunk(""),
    ),
    /^HTTP\/1\.1 200/,
  )
  const broken = [
    head("Content-Length: 500") + body,
    head("Transfer-Encoding: chunked") + chunk(body.slice(0, 9)),
    `${head("Transfer-Encoding: chunked")}${chunk(body.slice(0, 9))}zz\r\n`,
    head("Content-Length: 99999999999999999999") + body,
  ]
  const [short, endless, ...answers] = await Promise.all([
    sendRaw(baseUrl, head(`Content-Length: ${body.length - 3}`) + body),
    sendRaw(baseUrl, head("Transfer-Encoding: chunked\r\nConnection: close") + chunk(`{"Name":"${"x".repeat(3 * 2 ** 20)}"}`) + chunk("")),
    ...broken.map((bytes) => sendRaw(baseUrl, bytes, { half: true })),
  ])
  assert.match(short, /^HTTP\/1\.1 400/, "the rest of the body is no request")
  assert.match(endless, /^HTTP\/1\.1 413/)
  for (const answer of answers) assert.ok(answer === "" || /^HTTP\/1\.1 4/.test(answer), answer)
  assert.equal((await call("GET", "/healthz")).status, 200)
})

test("a body in thousands of chunks of one byte is rejected for every caller", async () => {
  const bytes = (path: string, authorizationLine: string) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${authorizationLine}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\n \r\n".repeat(30_000)}`
  for (const answer of [
    await sendRaw(baseUrl, bytes("/session", "")),
    await sendRaw(baseUrl, bytes("/project", `Authorization: ${admin}\r\n`)),
  ]) {
    assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*larger pieces/)
    assert.match(answer, /^connection: close/im)
  }
  const unwanted = await sendRaw(baseUrl, bytes("/project", ""))
  assert.match(unwanted, /^HTTP\/1\.1 401 [\s\S]*connection: close/i)
})

test("a body of 10 MB and one of 10,000 levels are refused", async () => {
  assert.equal((await call("POST", "/project", { body: `"${"x".repeat(10_000_000)}"` })).status, 413)
  assert.equal((await call("POST", "/image", { body: "[".repeat(10_000) + "]".repeat(10_000) })).status, 400)
  assert.equal((await call("POST", "/image", { body: '{"a":'.repeat(10_000) })).status, 400)
})

test("slow senders and clients that never read block nobody else", async () => {
  const { port } = new URL(baseUrl)
  const sockets = Array.from({ length: 200 }, () => connect({ host: "127.0.0.1", port: Number(port) }))
  await Promise.all(sockets.map((socket) => once(socket, "connect")))
  for (const [i, socket] of sockets.entries()) {
    socket.on("error", () => {})
    socket.pause()
    if (i % 2 === 0) socket.write("POST /image HTTP/1.1\r\nHost: localhost\r\nContent-Le")
    else socket.write(`GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(20))
  }
  for (let i = 0; i < 20; i += 1) assert.equal((await call("GET", "/images")).status, 200)
  for (const socket of sockets) socket.destroy()
  assert.equal((await call("GET", "/healthz")).status, 200)
})

test("pipelined requests are answered one at a time, and dropped when their connection closes", async () => {
  const { port } = new URL(baseUrl)
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (\\d+)`, "m").exec((await sendRequest(baseUrl, "GET", "/metrics")).text)?.[1] ?? 0)
  const answerCount = () => metric('quayside_http_requests_total\\{operation="openapi",status="200"\\}')
  const before = await answerCount()
  const socket = connect({ host: "127.0.0.1", port: Number(port) })
  socket.on("error", () => {})
  socket.pause()
  socket.write("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(90))
  while ((await metric("quayside_http_requests_under_way")) < 50);
  assert.ok((await answerCount()) - before < 40, "answers that nobody reads are not made")
  socket.destroy()
  while ((await metric("quayside_http_requests_under_way")) > 1);
  const patient = await sendRaw(
    baseUrl,
    `${"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(99)}GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  )
  assert.equal(patient.match(/HTTP\/1\.1 200/g)?.length, 100, "who reads gets them all")
})

test("thousands of random requests over raw sockets cause neither a server error nor a crash", async () => {
  await sendRandomRequests(baseUrl, { authorization: admin, seed: 20_260_101, count: 2_000 })
  assert.equal((await call("GET", "/images")).status, 200)
})
