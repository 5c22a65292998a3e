import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import { test } from "node:test"
import { GatewayFixture, readHead } from "../testing/gateway-fixture.ts"

const head = "Host: localhost\r\nAuthorization: Bearer ann\r\n"

/** The status and body of the last answer, and how many came. */
function parse(text: string): { count: number; status: number; body: string; headers: string } {
  const answers = text.split(/(?=HTTP\/1\.1 \d\d\d )/)
  const [headers = "", body = ""] = (answers.at(-1) ?? "").split(/\r\n\r\n/)
  return { count: answers.length, status: Number(/^HTTP\/1\.1 (\d+)/.exec(headers)?.[1]), body, headers }
}

test("requests of ambiguous length are refused with the failure object, and reach no program", async () => {
  await using fixture = await GatewayFixture.open()
  const smuggled = `GET /run/1/smuggled HTTP/1.1\r\n${head}\r\n`
  for (const fields of [
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    "Content-Length: 5\r\nContent-Length: 6\r\n",
    "Content-Length: 5, 6\r\n",
    "Content-Length: +5\r\n",
    "Content-Length: 0x5\r\n",
    "Content-Length: -1\r\n",
    "Content-Length: 5 5\r\n",
    "Transfer-Encoding: xchunked\r\n",
    "Transfer-Encoding: chunked, identity\r\n",
    "Transfer-Encoding: identity\r\n",
    "Transfer-Encoding : chunked\r\n",
    "Transfer-Encoding:\x0bchunked\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
    " Transfer-Encoding: chunked\r\n",
    "X: a\nTransfer-Encoding: chunked\r\n",
    "X: a\rTransfer-Encoding: chunked\r\n",
    "X: a\0b\r\n",
    "X y: a\r\n",
    ": a\r\n",
    "X: a\r\n b\r\n",
  ]) {
    const text = await fixture.raw(`POST /run/1/ HTTP/1.1\r\n${head}${fields}\r\n0\r\n\r\n${smuggled}`)
    const { count, status, body } = parse(text)
    assert.equal(count, 1, JSON.stringify(fields))
    assert.equal(status, 400, JSON.stringify(fields) + text)
    assert.equal(JSON.parse(body).code, "invalid")
  }
  for (const chunks of [
    "5\r\nhello0\r\n\r\n",
    "g\r\n",
    "-1\r\n",
    "5 \r\nhello\r\n0\r\n\r\n",
    "5\nhello\r\n0\r\n\r\n",
    "5;a\nb\r\nhello\r\n0\r\n\r\n",
    "fffffffffffffffff\r\n",
  ]) {
    await fixture.raw(`POST /run/1/ HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n${chunks}${smuggled}`)
  }
  assert.ok(fixture.program.requests.every((request) => request.url !== "/smuggled"))
})

test("the content of a request's body is never parsed as a request", async () => {
  await using fixture = await GatewayFixture.open()
  const inner = `GET /smuggled HTTP/1.1\r\nHost: localhost\r\nX: `
  const text = await fixture.raw(
    `POST /run/1/ HTTP/1.1\r\n${head}Content-Length: ${inner.length}\r\n\r\n${inner}GET /run/1/next HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
  )
  assert.equal(parse(text).count, 2)
  assert.deepEqual(fixture.program.requests.map((request) => request.url).sort(), ["/", "/next"])
})

test("the body of a refused upload is not parsed as the next request", async () => {
  await using fixture = await GatewayFixture.open()
  const body = `GET /run/1/smuggled HTTP/1.1\r\n${head}\r\n`
  const text = await fixture.raw(
    `POST /run/1/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}GET /run/1/next HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
  )
  assert.equal(parse(text).count, 2)
  assert.deepEqual(
    fixture.program.requests.map((request) => request.url),
    ["/next"],
  )
})

test("long heads return 431, unknown methods and versions 400, each with the failure object", async () => {
  await using fixture = await GatewayFixture.open()
  for (const [text, status, code] of [
    [`GET /run/1/ HTTP/1.1\r\n${head}X: ${"a".repeat(40_000)}\r\n\r\n`, 431, "headers_too_large"],
    [`GET /run/1/${"a".repeat(40_000)} HTTP/1.1\r\n${head}\r\n`, 431, "headers_too_large"],
    [`NONSENSE /run/1/ HTTP/1.1\r\n${head}\r\n`, 400, "invalid"],
    [`GET /run/1/ HTTP/3.7\r\n${head}\r\n`, 400, "invalid"],
    ["\x16\x03\x01\x02\x00\x01", 400, "invalid"],
    [`GET /run/1/ a HTTP/1.1\r\n${head}\r\n`, 400, "invalid"],
  ] as const) {
    const answer = parse(await fixture.raw(text))
    assert.equal(answer.status, status)
    assert.equal(JSON.parse(answer.body).code, code)
    assert.equal(JSON.parse(answer.body).ok, false)
    assert.match(answer.headers, /connection: close/i)
  }
})

test("a target of more than 8,192 characters returns 414", async () => {
  await using fixture = await GatewayFixture.open()
  const request = async (length: number) => {
    const target = "/run/1/".padEnd(length, "a")
    return parse(await fixture.raw(`GET ${target} HTTP/1.1\r\n${head}Connection: close\r\n\r\n`))
  }
  assert.notEqual((await request(8_192)).status, 414)
  const long = await request(8_193)
  assert.deepEqual([long.status, JSON.parse(long.body).code], [414, "too_large"])
})

test("no header can hide behind many others", async () => {
  await using fixture = await GatewayFixture.open()
  const many = (count: number) => "x:y\r\n".repeat(count)
  const request = async (count: number) =>
    parse(await fixture.raw(`GET /run/1/ HTTP/1.1\r\n${head}${many(count)}Authorization: Bearer bob\r\nConnection: close\r\n\r\n`))
  assert.equal((await request(400)).status, 401)
  assert.equal((await request(3_000)).status, 431)
})

test("CONNECT is refused", async () => {
  await using fixture = await GatewayFixture.open()
  const answer = parse(await fixture.raw(`CONNECT 127.0.0.1:22 HTTP/1.1\r\n${head}\r\n`))
  assert.equal(answer.status, 405)
  assert.equal(JSON.parse(answer.body).code, "method_not_allowed")
  assert.equal(fixture.program.connections, 0)
})

test("an offer of HTTP/2 is ignored, and other upgrades are forwarded", async () => {
  await using fixture = await GatewayFixture.open()
  fixture.program.server.on("upgrade", (request, socket) => {
    socket.write(`HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`)
    socket.on("error", () => {}).pipe(socket)
  })
  const offer = parse(
    await fixture.raw(
      `GET /run/1/ HTTP/1.1\r\n${head}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n\r\n`,
    ),
  )
  assert.equal(offer.status, 200)
  assert.doesNotMatch(offer.body, /h2c|http2/i)
  const { head: switched, socket } = await fixture.upgrade(fixture.apps, "/run/1/", { Authorization: "Bearer ann", Upgrade: "telnet" })
  assert.match(switched, /^HTTP\/1\.1 101 [\s\S]*Upgrade: telnet/)
  socket.resume().write("hello")
  assert.equal(String((await once(socket, "data"))[0]), "hello")
  socket.destroy()
})

test("a body with an ignored upgrade is forwarded, and one with an upgrade that could be accepted is refused", async () => {
  await using fixture = await GatewayFixture.open()
  const bodies = ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]
  for (const body of bodies) {
    for (const offer of ["POST h2c", "POST websocket", "GET h2c"]) {
      const [method, protocol] = offer.split(" ")
      const request = `${method} /run/1/ HTTP/1.1\r\n${head}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAA\r\n${body}`
      const { status, body: text } = parse(await fixture.raw(request))
      assert.equal(status, 200, offer)
      assert.equal(JSON.parse(text).body, "hello", offer)
    }
    const { status } = parse(await fixture.raw(`GET /run/1/ HTTP/1.1\r\n${head}Connection: Upgrade\r\nUpgrade: websocket\r\n${body}`))
    assert.equal(status, 400)
  }
})

test("an upgrade behind a pending request is ignored, and both requests are answered", async () => {
  await using fixture = await GatewayFixture.open()
  const answers = await fixture.raw(
    `GET /run/1/first HTTP/1.1\r\n${head}\r\nGET /run/1/second HTTP/1.1\r\n${head}Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
  )
  assert.deepEqual(answers.match(/HTTP\/1\.1 \d+|"url":"[^"]*"/g), ["HTTP/1.1 200", '"url":"/first"', "HTTP/1.1 200", '"url":"/second"'])
})

test("a client that sends its head slowly delays nobody else", async () => {
  await using fixture = await GatewayFixture.open()
  const slow = connect(fixture.port, "127.0.0.1")
  slow.write("GET /run/1/ HT")
  const quick = await fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer ann" } })
  assert.equal(quick.status, 200)
  slow.write(`TP/1.1\r\n${head}\r\n`)
  assert.match((await readHead(slow)).head, /^HTTP\/1\.1 200/)
  slow.destroy()
})

test("a body with long chunk extensions returns 400", async () => {
  await using fixture = await GatewayFixture.open()
  const text = await fixture.raw(
    `POST /run/1/ HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n1;${"x".repeat(20_000)}\r\na\r\n0\r\n\r\n`,
  )
  const { status, body } = parse(text)
  assert.equal(status, 400, text)
  assert.equal(JSON.parse(body).code, "invalid")
})
