import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { basic, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start()
})
after(() => server[Symbol.asyncDispose]())

const propfind = (path: string, depth = "1", user = "ann") => server.ask("PROPFIND", path, { headers: { depth }, user })
const hrefs = (xml: string) => [...xml.matchAll(/<D:href>([^<]*)</g)].map(([, href]) => href)
const methods = ["OPTIONS", "GET", "HEAD", "PUT", "DELETE", "MKCOL", "PROPFIND", "PROPPATCH", "COPY", "MOVE", "LOCK", "UNLOCK"]

test("every method returns 404 for an entry that the caller may not see", async () => {
  await server.ask("PUT", "/users/bob/secret", { body: "x", user: "bob" })
  for (const path of ["/users/bob", "/users/bob/", "/users/bob/secret", "/users/bob/missing", "/users/nobody/x", "/elsewhere"]) {
    for (const method of methods) {
      const answer = await server.ask(method, path, { body: method === "PROPPATCH" ? "<x/>" : "" })
      assert.equal(answer.status, 404, `${method} ${path}`)
      if (method !== "HEAD") assert.deepEqual(Object.keys(JSON.parse(answer.text)), ["ok", "msg", "code"])
    }
  }
  for (const method of ["COPY", "MOVE"]) {
    await server.ask("PUT", "/users/ann/mine", { body: "x" })
    assert.equal((await server.ask(method, "/users/ann/mine", { headers: { destination: "/users/bob/mine" } })).status, 404)
  }
  assert.equal(readFileSync(join(server.root, "users/bob/secret"), "utf8"), "x")
})

test("a parent directory lists only the path to entries that the caller may see", async () => {
  assert.deepEqual(hrefs((await propfind("/", "infinity", "bob")).text).slice(0, 3), ["/", "/users/", "/users/bob/"])
  assert.equal((await server.ask("PUT", "/users/x", { body: "x" })).status, 404)
  assert.equal((await server.ask("DELETE", "/users")).status, 403)
  assert.equal((await server.ask("DELETE", "/users/ann")).status, 403)
  assert.equal((await server.ask("MOVE", "/users/ann", { headers: { destination: "/users/ann2" } })).status, 403)
  assert.equal((await server.ask("COPY", "/users", { headers: { destination: "/users/ann/all" } })).status, 403)
})

test("a read right reads, and changes nothing", async () => {
  server.makeDirectory("data/shared")
  writeFileSync(join(server.root, "data/shared/f"), "x")
  server.authority.add("carl", { "/data/shared": "read" })
  assert.equal((await server.ask("GET", "/data/shared/f", { user: "carl" })).text, "x")
  for (const method of ["PUT", "DELETE", "MKCOL", "PROPPATCH", "LOCK", "UNLOCK"]) {
    assert.equal((await server.ask(method, "/data/shared/f", { user: "carl", body: "" })).status, 403, method)
  }
  assert.equal((await server.ask("MOVE", "/data/shared/f", { user: "carl", headers: { destination: "/users/carl/f" } })).status, 403)
})

test("a read-only token changes nothing", async () => {
  server.makeDirectory("users/dora")
  server.authority.add("dora", {}, { readOnly: true })
  for (const method of methods.filter((one) => !["OPTIONS", "GET", "HEAD", "PROPFIND"].includes(one))) {
    assert.equal((await server.ask(method, "/users/dora/x", { user: "dora", body: "" })).status, 403, method)
  }
  assert.equal((await propfind("/users/dora/", "0", "dora")).status, 207)
})

test("a request without valid credentials learns only that they are required", async () => {
  for (const user of [null, "ann:wrong", "nobody"]) {
    for (const method of methods) {
      const answer = await server.ask(method, "/users/ann/a.csv", { user })
      assert.equal(answer.status, 401)
      assert.equal(answer.headers["www-authenticate"], 'Basic realm="Quayside"')
    }
  }
  const slowed = await server.ask("GET", "/", { user: "slowed" })
  assert.equal(slowed.status, 429)
  assert.equal(slowed.headers["retry-after"], "7")
})

test("a browser's write for a page of another origin is refused", async () => {
  const refused = [
    { origin: "http://evil.example" },
    { origin: "null" },
    { origin: server.url },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ]
  for (const headers of refused) {
    for (const method of ["PUT", "DELETE", "MKCOL", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK"]) {
      assert.equal((await server.ask(method, "/users/ann/csrf", { headers, body: "" })).status, 403, `${method} ${JSON.stringify(headers)}`)
    }
  }
  assert.equal((await server.ask("PUT", "/users/ann/ok", { headers: { "sec-fetch-site": "none" }, body: "" })).status, 201)
  assert.equal((await server.ask("GET", "/users/ann/ok", { headers: { "sec-fetch-site": "cross-site" } })).status, 200)
})

test("a foreign `Host` is refused", async () => {
  const status = async (host: string) => (await server.ask("OPTIONS", "/", { headers: { host } })).status
  for (const host of ["localhost", "127.0.0.1:8082", "[::1]:8082", "files.example.com", "FILES.example.com:443"])
    assert.equal(await status(host), 200, host)
  for (const host of ["evil.example", "x.localhost", "localhost.evil.example", "a@localhost", "localhost:80:80", "128.0.0.1"])
    assert.equal(await status(host), 400, host)
})

test("a repeated header that identifies the request is refused", async () => {
  const twice = ["Host: localhost", `Authorization: ${basic("bob")}`, "Destination: /users/ann/y", "Depth: 1"]
  for (const line of twice) {
    const connection = await server.raw()
    connection.write(
      `COPY /users/ann/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\nDestination: /users/ann/y\r\nDepth: 0\r\n${line}\r\n\r\n`,
    )
    assert.match(await connection.until("\r\n\r\n{"), /^HTTP\/1.1 400 /, line)
    connection.socket.destroy()
  }
})

test("a rejected body does not affect the connection's next response", async () => {
  const big = Buffer.alloc(3_000_000)
  const answer = await server.ask("PUT", "/users/ann/no/such/parent", { body: big })
  assert.equal(answer.status, 409)
  assert.equal((await server.ask("PUT", "/users/bob/x", { body: big })).status, 404)
})

test("HTTP errors have the failure object as well", async () => {
  const refusal = async (text: string) => {
    const connection = await server.raw()
    connection.write(text)
    const [head = "", body = "{}"] = (await connection.end()).split("\r\n\r\n")
    return [Number(head.split(" ")[1]), JSON.parse(body).code]
  }
  assert.deepEqual(await refusal("GET nonsense HTTP/1.1\r\n\r\n"), [400, "invalid"])
  assert.deepEqual(await refusal("BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n"), [405, "method_not_allowed"])
  const get = (length: number) => refusal(`GET ${"/".padEnd(length, "x")} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  assert.deepEqual(await get(8_192), [401, "unauthorized"])
  assert.deepEqual(await get(8_193), [414, "too_large"])
  assert.deepEqual(await refusal(`GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`), [431, "headers_too_large"])
  assert.deepEqual(await refusal("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), [400, "invalid"])
})

test("an unknown method is refused with the list of known ones", async () => {
  const answer = await server.ask("SEARCH", "/users/ann/x", { body: "" })
  assert.equal(answer.status, 405)
  assert.match(answer.headers.allow ?? "", /OPTIONS, GET, HEAD, PUT/)
})

test("a method that does not fit the entry is refused with those that do", async () => {
  await server.ask("MKCOL", "/users/ann/there")
  await server.ask("PUT", "/users/ann/there/file", { body: "x" })
  const allowed = async (method: string, path: string) => {
    const { status, headers } = await server.ask(method, path, { body: "" })
    assert.equal(status, 405, `${method} ${path}`)
    return String(headers.allow).split(", ").sort()
  }
  const onBoth = ["COPY", "DELETE", "LOCK", "MOVE", "OPTIONS", "PROPFIND", "PROPPATCH", "UNLOCK"]
  for (const method of ["GET", "PUT", "MKCOL"]) assert.deepEqual(await allowed(method, "/users/ann/there"), onBoth, method)
  assert.deepEqual(await allowed("MKCOL", "/users/ann/there/file"), [...onBoth, "GET", "HEAD", "POST", "PUT"].sort())
  assert.deepEqual(await allowed("PUT", "/users/ann/there/no/"), [...onBoth, "MKCOL"].sort())
})
