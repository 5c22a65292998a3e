import assert from "node:assert/strict"
import { test } from "node:test"
import {
  baseUrl,
  cookiesOf,
  type FixtureRequest,
  GatewayFixture,
  type GatewayFixtureOptions,
  keyA,
  keyB,
  navigationHeaders,
  TestProgram,
} from "../testing/gateway-fixture.ts"

/** A gateway whose `request` carries a session of run 1. */
async function entered(options: GatewayFixtureOptions = {}) {
  await using stack = new AsyncDisposableStack()
  const fixture = stack.use(await GatewayFixture.open(options))
  const { cookie } = await fixture.enter()
  const request = (path: string, requestOptions: Omit<FixtureRequest, "headers"> & { headers?: Record<string, string | string[]> } = {}) =>
    fixture.ask(fixture.origin, path, { ...requestOptions, headers: { cookie, ...requestOptions.headers } })
  const held = stack.move()
  return { fixture, cookie, request, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

const answering = (headers: Record<string, string | string[]>, status = 200) =>
  new TestProgram((request, response) => {
    request.resume()
    response.writeHead(status, headers).end("ok")
  })

test("the program receives the request unchanged, without Quayside's cookies and tokens", async () => {
  await using created = await entered()
  const cookie = `a=1; quayside_session=secret; ${created.cookie}; __Host-quayside_session=secret; =quayside_session=x; __host-QUAYSIDE=x; b=2`
  const { text } = await created.request("/p%20q?x=1&y", {
    method: "POST",
    body: "hello",
    headers: { cookie, authorization: "Bearer qs_secret", "sec-fetch-site": "same-origin", "x-own": ["1", "2"], "content-type": "a/b" },
  })
  const received = JSON.parse(text)
  assert.equal(received.method, "POST")
  assert.equal(received.url, "/p%20q?x=1&y")
  assert.equal(received.body, "hello")
  assert.equal(received.headers.host, created.fixture.origin)
  assert.equal(received.headers.cookie, "a=1; b=2")
  assert.equal(received.headers.authorization, undefined)
  assert.equal(received.headers["x-own"], "1, 2")
  assert.equal(received.headers["content-type"], "a/b")
  assert.doesNotMatch(text, /secret/)
})

test("the program's own token reaches it; Basic and Quayside's tokens do not, and the run's headers replace them", async () => {
  await using created = await entered()
  const sent = async (authorization: string) =>
    JSON.parse((await created.request("/", { headers: { authorization } })).text).headers.authorization
  assert.equal(await sent("Bearer eyJhbGciOi.J9.aqs_b"), "Bearer eyJhbGciOi.J9.aqs_b")
  assert.equal(await sent("token abc"), "token abc")
  for (const own of ["Bearer qs_abc", "bearer qf_abc.def", "Basic YW5uOnB3", "BASIC YW5uOnB3", "Token x=qs_abc"])
    assert.equal(await sent(own), undefined, own)

  created.fixture.runs.targets.set(keyA, { ...created.fixture.target, upstreamHeaders: { Authorization: "token run" } })
  assert.equal(await sent("token abc"), "token run")
})

test("a caller cannot forge its address, in any spelling of the headers", async () => {
  await using created = await entered()
  const forged = {
    "x-forwarded-for": "6.6.6.6",
    "X-Forwarded-Host": "evil",
    "x-forwarded-proto": "https",
    "x-forwarded-prefix": "/evil",
    x_forwarded_for: "6.6.6.6",
    "X_Forwarded-User": "root",
    "x-real-ip": "6.6.6.6",
    x_real_ip: "6.6.6.6",
    forwarded: "for=6.6.6.6",
    proxy: "http://evil",
    "http2-settings": "x",
    co_okie: "fine",
    _cookie: "fine",
  }
  const { headers } = JSON.parse((await created.request("/", { headers: forged })).text)
  assert.equal(headers["x-forwarded-for"], "127.0.0.1")
  assert.equal(headers["x-forwarded-host"], created.fixture.origin)
  assert.equal(headers["x-forwarded-proto"], "http")
  for (const name of Object.keys(headers))
    assert.doesNotMatch(name, /^(?:x.real|forwarded|proxy|http2|x.forwarded.(?!for$|host$|proto$)|x_)/, name)
})

test("the addresses that a trusted proxy forwards count, and no others", async () => {
  await using created = await entered({ trustedProxies: ["127.0.0.1", "10.0.0.0/8"] })
  const forwardedFor = async (chain: string) =>
    JSON.parse((await created.request("/", { headers: { "x-forwarded-for": chain } })).text).headers["x-forwarded-for"]
  assert.equal(await forwardedFor("6.6.6.6, 10.1.1.1"), "6.6.6.6, 10.1.1.1, 127.0.0.1")
  assert.equal(await forwardedFor("junk, 10.1.1.1"), "10.1.1.1, 127.0.0.1")
})

test("hop-by-hop headers are not forwarded, and cannot remove other headers", async () => {
  await using created = await entered()
  const { headers } = JSON.parse(
    (
      await created.request("/", {
        headers: { connection: "x-hop, host, x-forwarded-for", "x-hop": "1", te: "gzip", "keep-alive": "x", "proxy-authorization": "x" },
      })
    ).text,
  )
  for (const name of ["x-hop", "te", "keep-alive", "proxy-authorization"]) assert.equal(headers[name], undefined, name)
  assert.equal(headers["x-forwarded-for"], "127.0.0.1")
  assert.equal(headers.host, created.fixture.origin)
})

test("other origins may send top-level navigations only", async () => {
  await using created = await entered()
  const own = `http://${created.fixture.origin}`
  const other = `http://${keyB}.localhost:${created.fixture.port}`
  const cross = { "sec-fetch-site": "cross-site" }
  const sibling = { "sec-fetch-site": "same-site" }
  const table: [string, Record<string, string>, number][] = [
    ["GET", {}, 200],
    ["GET", { ...navigationHeaders, ...cross }, 200],
    ["GET", { ...navigationHeaders, ...sibling }, 200],
    ["GET", { ...navigationHeaders, ...cross, "sec-fetch-dest": "iframe" }, 403],
    ["GET", { ...navigationHeaders, ...sibling, "sec-fetch-dest": "frame" }, 403],
    ["GET", { ...cross, "sec-fetch-dest": "script", "sec-fetch-mode": "no-cors" }, 403],
    ["GET", { ...sibling, "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors" }, 403],
    ["GET", { ...cross, "sec-fetch-dest": "empty", "sec-fetch-mode": "cors", origin: other }, 403],
    ["GET", { origin: other }, 403],
    ["OPTIONS", { origin: other, "access-control-request-method": "PUT" }, 403],
    ["GET", { "sec-fetch-site": "same-origin", "sec-fetch-dest": "empty" }, 200],
    ["GET", { "sec-fetch-site": "same-origin", "sec-fetch-dest": "iframe" }, 200],
    ["POST", {}, 403],
    ["POST", { origin: own }, 200],
    ["POST", { origin: other }, 403],
    ["POST", { origin: "null" }, 403],
    ["POST", { origin: "null", "sec-fetch-site": "same-origin" }, 200],
    ["POST", { origin: "null", ...cross }, 403],
    ["POST", { origin: other, "sec-fetch-site": "same-origin" }, 403],
    ["POST", { ...navigationHeaders, ...cross, origin: other }, 403],
    ["POST", { ...navigationHeaders, ...sibling }, 403],
    ["POST", { "sec-fetch-site": "same-origin" }, 200],
    ["POST", { "sec-fetch-site": "none" }, 200],
    ["DELETE", { "sec-fetch-site": "cross-site" }, 403],
    ["PUT", {}, 403],
    ["PROPFIND", {}, 403],
    ["POST", { origin: own.replace("http:", "https:") }, 403],
    ["POST", { origin: `http://${keyA}.localhost` }, 403],
  ]
  for (const [method, headers, status] of table) {
    assert.equal((await created.request("/", { method, headers })).status, status, `${method} ${JSON.stringify(headers)}`)
  }
})

test("a program sets cookies for its own host only, and never under Quayside's names", async () => {
  const cookies = [
    "own=1; Path=/; HttpOnly",
    "wide=1; Domain=localhost; Path=/",
    "wide2=1; domain =.localhost;Secure",
    "wide3=1; DOMAIN; SameSite=None",
    "__Host-Http-quayside-run=planted; Path=/",
    "__host-http-QUAYSIDE-nonce=planted; Path=/",
    "quayside_session=planted",
    "=quayside-run=planted",
    " = __Host-quayside_session=planted",
    "__Secure-__Host-quayside-x=planted",
    "quayside-run",
  ]
  await using created = await entered({ program: answering({ "set-cookie": cookies }) })
  const answer = await created.request("/")
  assert.deepEqual(answer.headers["set-cookie"], ["own=1; Path=/; HttpOnly", "wide=1; Path=/", "wide2=1;Secure", "wide3=1; SameSite=None"])
})

test("responses lose headers with effects beyond the program's origin, and keep all others", async () => {
  const lost = {
    "clear-site-data": '"*"',
    "strict-transport-security": "max-age=1; includeSubDomains",
    "alt-svc": 'h2="evil:443"',
    nel: "{}",
    "report-to": "{}",
    "x-hop": "1",
    connection: "x-hop",
    "proxy-authenticate": "Basic",
  }
  const remaining = {
    "content-security-policy": "default-src 'self'",
    "service-worker-allowed": "/",
    etag: '"1"',
    "x-own": "1",
    refresh: "9",
  }
  await using created = await entered({ program: answering({ ...lost, ...remaining }) })
  const { headers } = await created.request("/")
  for (const name of Object.keys(lost)) if (name !== "connection") assert.equal(headers[name], undefined, name)
  for (const [name, value] of Object.entries(remaining)) assert.equal(headers[name], value, name)
})

test("headers that a program's second Connection header names are not forwarded", async () => {
  await using created = await entered({ program: answering({ connection: ["close", "x-hop"], "x-hop": "1" }) })
  assert.equal((await created.request("/")).headers["x-hop"], undefined)
})

test("a `Host` with the scheme's default port matches an `Origin` without it", async () => {
  await using created = await entered()
  for (const port of ["", ":", ":80"]) {
    const headers = { cookie: created.cookie, origin: `http://${keyA}.localhost` }
    const { status } = await created.fixture.ask(`${keyA}.localhost${port}`, "/", { method: "POST", headers })
    assert.equal(status, 200, port)
  }
})

test("`Location` URLs of the run's own host become relative, others are unchanged", async () => {
  for (const [sent, got] of [
    ["/a?b#c", "/a?b#c"],
    ["a/b", "a/b"],
    ["https://{own}/a?b", "/a?b"],
    ["//{own}/a", "/a"],
    ["http://{own}//evil.example/", "http://{own}//evil.example/"],
    ["https://other.example/a", "https://other.example/a"],
    ["//other.example/a", "//other.example/a"],
    ["mailto:x", "mailto:x"],
  ] as const) {
    const program = new TestProgram((request, response) =>
      response.writeHead(302, { location: sent.replace("{own}", request.headers.host ?? "") }).end(),
    )
    await using created = await entered({ program })
    assert.equal((await created.request("/")).headers.location, got.replace("{own}", created.fixture.origin))
  }
})

test("unknown hosts and keys are refused, as JSON for programs and as a page for browsers", async () => {
  await using fixture = await GatewayFixture.open()
  const unknown = `${keyB}.localhost:${fixture.port}`
  const json = await fixture.ask(unknown, "/")
  assert.equal(json.status, 404)
  assert.deepEqual(JSON.parse(json.text), { ok: false, msg: "There is no such run, or it has ended", code: "not_found" })
  const html = await fixture.ask(unknown, "/", { headers: navigationHeaders })
  assert.equal(html.status, 404)
  assert.match(html.headers["content-type"] ?? "", /^text\/html/)
  assert.match(
    String(html.headers["content-security-policy"]),
    /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  )
  for (const host of ["x.localhost", `${keyA}x.localhost`, `${keyA.toUpperCase()}G.localhost`, `a.${keyA}.localhost`]) {
    assert.equal((await fixture.ask(host, "/")).status, 404, host)
  }
  for (const host of [
    "evil.example",
    `${keyA}.localhost.evil.example`,
    `${keyA}.localhost.`,
    "user@localhost",
    "localhost:x",
    "localhost/x",
    "8.8.8.8",
  ]) {
    assert.equal((await fixture.ask(host, "/")).status, 400, host)
  }
  assert.equal((await fixture.ask(fixture.origin.toUpperCase(), "/", { headers: navigationHeaders })).status, 302)
})

test("requests without a session that are no navigations are refused", async () => {
  await using fixture = await GatewayFixture.open()
  for (const headers of [
    {},
    { accept: "*/*", "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
    { authorization: "Bearer ann" },
  ]) {
    const answer = await fixture.ask(fixture.origin, "/", { headers })
    assert.equal(answer.status, 401)
    assert.equal(JSON.parse(answer.text).code, "unauthorized")
    assert.equal(answer.headers["www-authenticate"], "Bearer")
    assert.equal(answer.headers["set-cookie"], undefined)
  }
  const framed = await fixture.ask(fixture.origin, "/x", {
    headers: { ...navigationHeaders, "sec-fetch-dest": "iframe", "sec-fetch-site": "same-origin" },
  })
  assert.equal(framed.status, 401)
  assert.match(framed.text, /href="\/.quayside\/start\?path=%2Fx" target="_top"/)
  assert.equal(fixture.program.requests.length, 0)
})

test("a run that is not ready answers with its state, on a page that reloads or with `Retry-After`", async () => {
  for (const state of ["queued", "pulling", "starting", "stopping"]) {
    await using created = await entered({ target: { state } })
    created.fixture.runs.targets.set(keyA, { ...created.fixture.target, address: undefined, state })
    const json = await created.request("/")
    assert.equal(json.status, 503)
    assert.equal(json.headers["retry-after"], "2")
    assert.deepEqual(JSON.parse(json.text), { ok: false, msg: `The run is not ready: it is ${state}`, code: "unavailable" })
    const html = await created.request("/", { headers: navigationHeaders })
    assert.equal(html.status, 503)
    assert.equal(html.headers.refresh, "2")
    assert.match(html.text, new RegExp(`href="${baseUrl}/ui/runs/${created.fixture.target.id}"`))
    assert.doesNotMatch(html.text, /The run is (queued|pulling|starting|stopping)\./)
  }
})

test("a program that has stopped listening gives 503, as JSON and as a page", async () => {
  await using created = await entered()
  await new Promise((resolve) => created.fixture.program.server.close(resolve).closeAllConnections())
  const json = await created.request("/")
  assert.equal(json.status, 503)
  assert.equal(JSON.parse(json.text).code, "unavailable")
  assert.match((await created.request("/", { headers: navigationHeaders })).text, /does not answer/)
})

test("a link from elsewhere to a program's root leads to its landing page; the program's own links do not", async () => {
  await using strip = await entered({ target: { landing: "vnc.html" } })
  assert.equal(
    (await strip.request("/", { headers: { ...navigationHeaders, "sec-fetch-site": "cross-site" } })).headers.location,
    "/vnc.html",
  )
  assert.equal((await strip.request("/", { headers: { ...navigationHeaders, "sec-fetch-site": "same-origin" } })).status, 200)
  assert.equal((await strip.request("/?x=1", { headers: navigationHeaders })).status, 200)
  await using keep = await entered({ target: { landing: "lab" }, prefix: "keep" })
  assert.equal(
    (await keep.request("/", { headers: { ...navigationHeaders, "sec-fetch-site": "same-origin" } })).headers.location,
    "/run/1/lab",
  )
  assert.equal((await keep.request("/run/1/", { headers: navigationHeaders })).headers.location, "/run/1/lab")
  assert.equal(JSON.parse((await keep.request("/run/1/api")).text).url, "/run/1/api")
})

test("responses restrict themselves to their origin if browsers send no `Sec-Fetch-Site`", async () => {
  await using fixture = await GatewayFixture.open({ appsUrl: "http://apps.example.com" })
  const host = `${keyA}.apps.example.com`
  const started = await fixture.ask(host, "/.quayside/start")
  const nonce = new URL(started.headers.location ?? "").searchParams.get("nonce") ?? ""
  const ticket = new URL(fixture.gateway.tickets.issue({ visitor: { userId: 1, credentialId: "p" }, target: fixture.target, nonce }))
  const cookie = cookiesOf(await fixture.ask(host, ticket.pathname + ticket.search, { headers: { cookie: cookiesOf(started) } }))
  const answer = await fixture.ask(host, "/", { headers: { cookie } })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers["content-security-policy"], "frame-ancestors 'self'")
  assert.equal(answer.headers["cross-origin-resource-policy"], "same-origin")
})

test("repeated `Authorization` and `Host` headers and targets without a path are refused", async () => {
  await using fixture = await GatewayFixture.open()
  const host = `Host: ${fixture.origin}\r\nConnection: close\r\n`
  const status = async (text: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(await fixture.raw(text))?.[1])
  assert.equal(await status(`GET / HTTP/1.1\r\n${host}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n`), 401)
  assert.equal(await status(`GET / HTTP/1.1\r\n${host}Host: localhost\r\n\r\n`), 400)
  assert.equal(await status("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), 400)
  assert.equal(await status(`GET http://${fixture.origin}/ HTTP/1.1\r\n${host}\r\n`), 400)
  assert.equal(await status(`OPTIONS * HTTP/1.1\r\n${host}\r\n`), 400)
  assert.equal(await status(`GET /#x HTTP/1.1\r\n${host}\r\n`), 400)
})
