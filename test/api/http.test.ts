import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth } from "#client"
import { type Endpoint, endpoints } from "#contract"
import { ensureWebBuild } from "../fixtures/web-build.ts"
import { adminPassword, startTestServer } from "../test-server.ts"
import { isFailure, type SendOptions, sendRaw, sendRequest } from "./http-client.ts"

await ensureWebBuild()
const testServer = await startTestServer()
after(() => testServer[Symbol.asyncDispose]())
const { baseUrl, appsUrl, filesUrl } = testServer.quayside
const admin = basicAuth("admin", adminPassword)
const call = (method: string, path: string, options: SendOptions = {}) => sendRequest(baseUrl, method, path, { as: admin, ...options })
const image = { Name: "a", Image: "b" }

test("every endpoint responds at its path and below /admin alike", async () => {
  const ann = await testServer.person("ann")
  for (const { method, path } of Object.values(endpoints) as Endpoint[]) {
    if (method !== "GET" || path === "/metrics") continue
    for (const as of [admin, ann.authorization]) {
      const [plain, prefixed] = await Promise.all([call("GET", path, { as }), call("GET", `/admin${path}`, { as })])
      assert.deepEqual([path, prefixed.status], [path, plain.status])
      assert.deepEqual({ ...prefixed.body, requestId: "" }, { ...plain.body, requestId: "" })
    }
  }
  const created = (await call("POST", "/admin/image", { body: image })).body
  assert.deepEqual((await call("DELETE", `/admin/image?ID=${created.ID}`)).body, { ok: true })
  assert.equal((await call("POST", "/admin/user", { as: ann.authorization, body: { UserName: "x" } })).status, 403)
})

test("an unknown method returns 405 with Allow, and a malformed request line 400", async () => {
  const brew = "BREW /image HTTP/1.1\r\nHost: localhost\r\n\r\n"
  const behind = await sendRaw(baseUrl, `GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n${brew}`)
  assert.deepEqual(
    [...behind.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status),
    ["200", "405"],
  )
  const answer = await sendRaw(baseUrl, brew)
  assert.match(answer, /^HTTP\/1\.1 405 /)
  assert.match(answer, /\r\nallow: GET, HEAD, POST, PUT, DELETE\r\n/)
  assert.equal(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))).code, "method_not_allowed")
  for (const bytes of ["\x16\x03\x01\x02\x00\x01\x00", "BREW\r\n\r\n"]) assert.match(await sendRaw(baseUrl, bytes), /^HTTP\/1\.1 400 /)
})

test("an unknown path is 404 and a wrong method 405 with Allow, both without credentials", async () => {
  for (const path of [
    "/nothing",
    "/image/",
    "/Image",
    "/admin",
    "/admin/admin/image",
    "//image",
    "/image%20",
    "/im%61ge",
    "/..",
    "/ui/../image",
    "/constructor",
    "/__proto__",
  ]) {
    const answer = await call("GET", path, { as: undefined as never })
    assert.deepEqual([path, answer.status, answer.body.code], [path, 404, "not_found"])
    assert.ok(isFailure(answer))
  }
  for (const [method, path, allow] of [
    ["PATCH", "/image", "POST, PUT, DELETE, GET, HEAD"],
    ["POST", "/images", "GET, HEAD"],
    ["PUT", "/running_project", "POST, DELETE, GET, HEAD"],
    ["OPTIONS", "/healthz", "GET, HEAD"],
    ["GET", "/session", "POST, DELETE"],
    ["DELETE", "/ui/", "GET, HEAD"],
  ] as const) {
    const answer = await sendRequest(baseUrl, method, path)
    assert.deepEqual([answer.status, answer.body.code, answer.headers.allow], [405, "method_not_allowed", allow])
    assert.ok(isFailure(answer))
  }
})

test("HEAD answers as GET does, without the body", async () => {
  const [get, head] = await Promise.all([call("GET", "/images"), call("HEAD", "/images")])
  assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", get.headers["content-length"]])
  assert.equal((await call("HEAD", "/image?ID=999")).status, 404)
})

test("a body must be JSON in UTF-8 with its Content-Type, otherwise 415", async () => {
  const types = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=latin1",
    "application/jsonp",
    "",
    "application/json-patch+json",
  ]
  for (const type of types) {
    const answer = await call("POST", "/image", { body: image, headers: { "content-type": type } })
    assert.deepEqual([type, answer.status, answer.body.code], [type, 415, "unsupported_media_type"])
  }
  for (const type of ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"])
    assert.equal((await call("POST", "/image", { body: image, headers: { "content-type": type } })).status, 200, type)
  assert.equal((await call("POST", "/image", { body: image, headers: { "content-encoding": "gzip" } })).status, 415)
  const latin1 = Buffer.from('{"Name":"\xe9","Image":"b"}', "latin1")
  assert.equal((await call("POST", "/image", { body: latin1, headers: { "content-type": "application/json" } })).status, 400)
})

test("malformed JSON is 400", async () => {
  for (const body of ["", "{", "[]", "null", "5", '"x"', "{'a':1}", '{"a":1,}', '{"Name":"a"}{}', "\ufeff{}x", "NaN", '{"Name":"a\nb"}']) {
    const answer = await call("POST", "/image", { body })
    assert.deepEqual([body, answer.status, answer.body.code], [body, 400, "invalid"])
  }
})

test("a body may have 1 MiB, 4 MiB for a project, otherwise 413", async () => {
  const filled = (bytes: number) => `{"Name":"a","Image":"b","Junk":"${"x".repeat(bytes - 34)}"}`
  assert.equal(Buffer.byteLength(filled(2 ** 20)), 2 ** 20)
  assert.equal((await call("POST", "/image", { body: filled(2 ** 20) })).status, 200)
  const over = await call("POST", "/image", { body: filled(2 ** 20 + 1) })
  assert.deepEqual([over.status, over.body.code], [413, "too_large"])
  assert.equal((await call("POST", "/project", { body: filled(4 * 2 ** 20) })).body.field, "Image")
  assert.equal((await call("POST", "/project", { body: filled(4 * 2 ** 20 + 1) })).status, 413)
  const ten = await call("POST", "/image", { body: filled(10 * 2 ** 20) })
  assert.ok(ten.status === 413 && isFailure(ten))
})

test("a body is at most 64 levels deep", async () => {
  const nested = (levels: number) => `{"Name":"a","Image":"b","x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`
  assert.equal((await call("POST", "/image", { body: nested(64) })).status, 200)
  for (const levels of [65, 10_000, 400_000])
    assert.match(String((await call("POST", "/image", { body: nested(levels) })).body.msg), /64 levels/)
  assert.equal(
    (await call("POST", "/image", { body: `{"Name":"a","Image":"b","x":"${"[".repeat(100)}\\"${"{".repeat(100)}"}` })).status,
    200,
  )
})

test("an address of more than 8,192 characters is 414, a head of more than 32 KiB is 431", async () => {
  const long = await call("GET", `/images?q=${"x".repeat(20_000)}`)
  assert.deepEqual([long.status, long.body.code], [414, "too_large"])
  assert.equal((await call("GET", `/images?UserName=${"x".repeat(8_000)}`)).status, 200)
  const heads = await sendRaw(baseUrl, `GET /images HTTP/1.1\r\nHost: localhost\r\nX-A: ${"y".repeat(40_000)}\r\n\r\n`)
  assert.match(heads, /^HTTP\/1\.1 431 /)
  assert.match(heads, /"code":"headers_too_large"/)
})

test("an unknown expectation returns 417", async () => {
  const answer = await call("GET", "/images", { headers: { expect: "a-miracle" } })
  assert.deepEqual([answer.status, answer.body.code], [417, "invalid"])
  assert.ok(isFailure(answer))
})

test("refusals of the HTTP layer carry the failure object and a request ID", async () => {
  const broken = [
    "GARBAGE\r\n\r\n",
    "GET /images HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "GET /images HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n",
    "GET /images HTTP/1.1\r\nHost: localhost\r\nContent-Length: abc\r\n\r\n",
    "POST /image HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /image HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n\r\n",
    "GET /images HTTP/1.1\r\nConnection: close\r\n\r\n",
    "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n",
  ]
  for (const bytes of broken) {
    const answer = await sendRaw(baseUrl, bytes)
    assert.match(answer, /^HTTP\/1\.1 4\d\d /, bytes)
    const body = JSON.parse(answer.slice(answer.lastIndexOf("\r\n\r\n")))
    assert.deepEqual([body.ok, typeof body.msg, typeof body.code, typeof body.requestId], [false, "string", "string", "string"])
  }
})

test("a body in a transfer coding other than chunked is rejected at every address, and none of it is stored", async () => {
  for (const [url, method, path] of [
    [baseUrl, "POST", "/image"],
    [appsUrl, "POST", "/run/1/"],
    [filesUrl, "PUT", "/users/admin/coded"],
  ] as const) {
    for (const coding of ["gzip, chunked", "gzip,\tchunked", "x, chunked"]) {
      const head = `${method} ${path} HTTP/1.1\r\nHost: localhost:${new URL(url).port}\r\nAuthorization: ${admin}\r\nContent-Type: application/json\r\n`
      const answer = await sendRaw(url, `${head}Transfer-Encoding: ${coding}\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n`)
      assert.match(answer, /^HTTP\/1\.1 400 /, `${path} ${coding}`)
      assert.match(answer, /Of transfer codings only chunked is known; got/, `${path} ${coding}`)
    }
  }
  assert.equal((await sendRequest(filesUrl, "GET", "/users/admin/coded", { as: admin })).status, 404)
})

test("Host must be a configured name or a loopback one", async () => {
  const { port } = new URL(baseUrl)
  for (const host of ["localhost", `localhost:${port}`, "127.0.0.1", "127.9.9.9:80", "[::1]:8080", "LOCALHOST"])
    assert.equal((await call("GET", "/images", { headers: { host } })).status, 200, host)
  for (const host of [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "10.0.0.1",
    "localhost:80:80",
    "a@localhost",
    "0x7f000001",
  ]) {
    const answer = await call("GET", "/healthz", { headers: { host } })
    assert.deepEqual([host, answer.status, answer.body.field], [host, 400, "Host"])
  }
})

test("a second Host header is refused", async () => {
  const answer = await sendRaw(baseUrl, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\nConnection: close\r\n\r\n")
  assert.match(answer, /^HTTP\/1\.1 400 /)
  assert.equal(JSON.parse(answer.slice(answer.lastIndexOf("\r\n\r\n"))).field, "Host")
})

test("pages respond below /admin too, and programs get failures as the failure object", async () => {
  for (const path of ["/", "/ui/", "/ui/sign-in", "/open?ID=1", "/oidc/login"]) {
    const [plain, prefixed] = await Promise.all([call("GET", path), call("GET", `/admin${path}`)])
    assert.deepEqual([path, prefixed.status, prefixed.headers.location], [path, plain.status, plain.headers.location])
  }
  const signedIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "admin", Password: adminPassword } })
  const cookie = String(signedIn.headers["set-cookie"]).split(";", 1)[0] as string
  const open = (accept: string) => sendRequest(baseUrl, "GET", "/open?ID=99999", { headers: { cookie, accept } })
  const [toPrograms, toPeople] = [await open("*/*"), await open("text/html,*/*;q=0.8")]
  assert.deepEqual([toPrograms.status, toPrograms.body.ok, toPrograms.body.code], [404, false, "not_found"])
  assert.deepEqual([toPeople.status, toPeople.headers["content-type"]], [404, "text/html; charset=utf-8"])
})

test("a write with cross-site browser headers is refused", async () => {
  const post = (headers: Record<string, string>, method = "POST") =>
    call(method, method === "POST" ? "/image" : "/image?ID=999", {
      headers,
      ...(method === "DELETE" ? {} : { body: { ...image, ID: 999 } }),
    })
  const { host } = new URL(baseUrl)
  const elsewhere = [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: appsUrl, host },
    { origin: filesUrl, host },
    { origin: `http://${host}.evil.example`, host },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: `http://${host}`, host, "sec-fetch-site": "cross-site" },
  ]
  for (const headers of elsewhere)
    for (const method of ["POST", "PUT", "DELETE"])
      assert.equal((await post(headers as never, method)).body.code, "forbidden", JSON.stringify(headers))
  for (const headers of [{ origin: `http://${host}`, host }, { "sec-fetch-site": "same-origin" }, { "sec-fetch-site": "none" }, {}])
    assert.equal((await post(headers as never)).status, 200, JSON.stringify(headers))
  assert.equal((await call("GET", "/images", { headers: { origin: "https://evil.example" } })).status, 200)
})

test("a write with a session cookie requires origin headers", async () => {
  const signIn = await call("POST", "/session", { as: undefined as never, body: { UserName: "admin", Password: adminPassword } })
  const cookie = String(signIn.headers["set-cookie"]).split(";")[0] as string
  const write = (headers: Record<string, string>) =>
    sendRequest(baseUrl, "POST", "/image", { body: image, headers: { cookie, ...headers } })
  assert.equal((await write({})).status, 403)
  assert.equal((await write({ "sec-fetch-site": "same-origin" })).status, 200)
  assert.equal((await sendRequest(baseUrl, "GET", "/whoami", { headers: { cookie } })).body.UserName, "admin")
  assert.equal(
    (await sendRequest(baseUrl, "GET", "/whoami", { headers: { cookie: `${cookie}; ${cookie}` } })).status,
    401,
    "a cookie that stands twice was planted",
  )
})

test("missing and wrong credentials return 401, with Bearer in WWW-Authenticate and a message about the user name", async () => {
  await testServer.person("gone")
  const { ID } = await testServer.admin.readUser({ query: { UserName: "gone" } })
  await testServer.admin.updateUser({ body: { ID, IsDisabled: true } })
  const credentials = [
    undefined,
    basicAuth("nobody", "wrong password"),
    basicAuth("admin", "wrong password"),
    basicAuth("gone", "gone-password"),
    "Bearer qs_wrong",
    "Bearer",
    "Basic ???",
    "Digest x",
  ]
  const messages = new Set<string>()
  for (const as of credentials) {
    const answer = await sendRequest(baseUrl, "GET", "/images", { as })
    assert.deepEqual([as, answer.status, answer.body.code], [as, 401, "unauthorized"])
    assert.match(String(answer.headers["www-authenticate"]), /^Bearer/)
    assert.match(String(answer.body.msg), /user name/)
    if (as?.startsWith("Basic ") && as !== "Basic ???") messages.add(String(answer.body.msg))
  }
  assert.equal(messages.size, 1)
})

test("status, description, the web UI's files, sign-in and the exchange of a code need no credentials", async () => {
  for (const path of ["/healthz", "/readyz", "/openapi.json", "/docs", "/ui/sign-in", "/ui/style.css", "/ui/icon.svg"])
    assert.equal((await sendRequest(baseUrl, "GET", path)).status, 200, path)
  const open = ["/healthz", "/readyz", "/openapi.json", "/docs", "/session", "/token/exchange", "/metrics"]
  for (const { method, path } of Object.values(endpoints) as Endpoint[]) {
    if (!open.includes(path)) assert.equal((await sendRequest(baseUrl, method, path)).status, 401, `${method} ${path}`)
  }
  assert.equal((await sendRequest(baseUrl, "GET", "/")).headers.location, "/ui/")
})

test("a body on GET and DELETE is ignored, and the connection stays open", async () => {
  const bytes = ["GET", "DELETE"]
    .map((method) => `${method} /image?ID=999 HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${admin}\r\nContent-Length: 7\r\n\r\n{"a":1}`)
    .join("")
  const answer = await sendRaw(baseUrl, `${bytes}GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  assert.deepEqual(answer.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 404", "HTTP/1.1 404", "HTTP/1.1 200"])
})

test("a request without body headers has an empty body", async () => {
  for (const [url, line, wanted] of [
    [baseUrl, "POST /image", /^HTTP\/1\.1 400 [\s\S]*The body must be JSON/],
    [filesUrl, "PUT /users/admin/empty", /^HTTP\/1\.1 201 /],
    [filesUrl, "PROPFIND /users/admin/empty", /^HTTP\/1\.1 207 [\s\S]*<D:getcontentlength>0</],
  ] as const) {
    const head = `${line} HTTP/1.1\r\nHost: localhost:${new URL(url).port}\r\nAuthorization: ${admin}\r\nContent-Type: application/json\r\n`
    assert.match(await sendRaw(url, `${head}Connection: close\r\n\r\n`), wanted, line)
  }
})

test("pipelined requests are answered in order, a malformed one after the others", async () => {
  const one = (id: number) => `GET /image?ID=${id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${admin}\r\nX-Request-ID: r${id}\r\n\r\n`
  const answer = await sendRaw(baseUrl, `${[900, 901, 902, 903].map(one).join("")}GARBAGE\r\n\r\n`)
  assert.deepEqual(answer.match(/x-request-id: r\d+/g), [
    "x-request-id: r900",
    "x-request-id: r901",
    "x-request-id: r902",
    "x-request-id: r903",
  ])
  assert.match(answer.slice(answer.lastIndexOf("HTTP/1.1")), /^HTTP\/1\.1 400/)
})

test("every address refuses a malformed request after answering the earlier ones", async () => {
  const head = `Host: localhost\r\nAuthorization: ${admin}\r\n`
  const chunked = `POST /image HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nZZZ\r\n`
  for (const [url, path, first] of [
    [baseUrl, "/image?ID=999", 404],
    [appsUrl, "/run/999/", 404],
    [filesUrl, "/users/admin/none", 404],
  ] as const) {
    for (const [bytes, second] of [
      ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
      ["\x16\x03\x01\x02\x00\x01\x00", 400],
      ["CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", 405],
      [chunked, 400],
    ] as const) {
      const answer = await sendRaw(url, `GET ${path} HTTP/1.1\r\n${head}\r\n${bytes}`)
      const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))
      assert.deepEqual([path, bytes, statuses], [path, bytes, [first, second]])
      assert.equal(JSON.parse(answer.slice(answer.lastIndexOf("\r\n\r\n"))).ok, false)
    }
  }
})

test("an absolute address in the request line takes precedence over Host", async () => {
  const sendRequest = (target: string) => sendRaw(baseUrl, `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  assert.match(await sendRequest("http://localhost/healthz"), /^HTTP\/1\.1 200/)
  assert.match(await sendRequest("http://evil.example/healthz"), /^HTTP\/1\.1 400/)
  assert.match(await sendRequest("*"), /^HTTP\/1\.1 404/)
})

test("every answer of the API is declared as JSON with nosniff", async () => {
  for (const path of ["/images", "/image?ID=99999", "/whoami", "/openapi.json", "/healthz"]) {
    const { headers } = await call("GET", path)
    assert.equal(headers["content-type"], "application/json; charset=utf-8")
    assert.equal(headers["x-content-type-options"], "nosniff")
  }
})

test("no answer, page or refusal can be loaded by a page of another origin", async () => {
  for (const path of ["/images", "/image?ID=99999", "/healthz", "/docs", "/ui/sign-in", "/open?ID=1", "/ui/style.css"]) {
    const { headers } = await call("GET", path)
    assert.equal(headers["cross-origin-resource-policy"], "same-origin", path)
  }
})
