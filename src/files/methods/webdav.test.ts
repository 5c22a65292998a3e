import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { after, before, test } from "node:test"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start()
})
after(() => server[Symbol.asyncDispose]())

const propfind = (path: string, depth = "1", user = "ann") => server.ask("PROPFIND", path, { headers: { depth }, user })
const hrefs = (xml: string) => [...xml.matchAll(/<D:href>([^<]*)</g)].map(([, href]) => href)

const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'

test("a listing reaches its depth limit and is refused beyond it", async () => {
  await using small = await TestFilesServer.start({ limits: { maxDeepEntries: 5 } })
  for (const name of ["1", "2", "3", "4"]) await small.ask("PUT", `/users/ann/${name}`, { body: "" })
  const request = (depth?: string) => small.ask("PROPFIND", "/users/ann/", { headers: depth ? { depth } : {} })
  assert.equal((await request("infinity")).status, 207)
  await small.ask("PUT", "/users/ann/5", { body: "" })
  for (const depth of ["infinity", undefined]) {
    const refused = await request(depth)
    assert.equal(refused.status, 403)
    assert.match(refused.text, /<D:error xmlns:D="DAV:"><D:propfind-finite-depth\/>/)
  }
  assert.equal(hrefs((await request("1")).text).length, 6)
})

test("a listing of many entries contains each once", async () => {
  server.makeDirectory("users/ann/many")
  for (let i = 0; i < 1_500; i += 1) writeFileSync(server.at("many", String(i)), "")
  const listed = await propfind("/users/ann/many/")
  assert.equal(listed.headers["transfer-encoding"], "chunked")
  assert.equal(new Set(hrefs(listed.text)).size, 1_501)
  assert.ok(listed.text.endsWith("</D:multistatus>\n"))
  assert.equal((await server.ask("DELETE", "/users/ann/many/")).status, 204)
})

test("XML that is too long, too deep, malformed or has a DTD is refused", async () => {
  const status = async (body: string) => (await server.ask("PROPFIND", "/users/ann/", { body, headers: { depth: "0" } })).status
  assert.equal(await status('<propfind xmlns="DAV:"><allprop/></propfind>'), 207)
  assert.equal(await status('<!DOCTYPE x [<!ENTITY e "x">]><propfind xmlns="DAV:"><prop>&e;</prop></propfind>'), 400)
  assert.equal(await status(`${"<a>".repeat(40)}${"</a>".repeat(40)}`), 400)
  assert.equal(await status(`<propfind xmlns="DAV:"><!--${"x".repeat(70_000)}--><allprop/></propfind>`), 413)
  for (const bad of [
    "x",
    "<propfind>",
    "<other/>",
    '<propfind xmlns="DAV:"/>',
    "<a:b/>",
    "<propfind xmlns='DAV:'><prop>&undefined;</prop></propfind>",
  ]) {
    assert.equal(await status(bad), 400, bad)
  }
})

test("a copy is complete, and a refused copy leaves nothing", async () => {
  await server.ask("MKCOL", "/users/ann/src")
  await server.ask("PUT", "/users/ann/src/f", { body: "f" })
  const copyTo = (destination: string, headers = {}) => server.ask("COPY", "/users/ann/src", { headers: { destination, ...headers } })
  assert.equal((await copyTo("/users/ann/dst")).status, 201)
  assert.equal((await copyTo(`${server.url}/users/ann/dst`)).status, 204)
  assert.equal((await copyTo("/users/ann/dst", { overwrite: "F" })).status, 412)
  assert.equal((await copyTo("http://elsewhere.example/users/ann/dst")).status, 502)
  assert.equal((await copyTo("/users/ann/src/inside")).status, 403)
  assert.equal((await copyTo("/users/ann/src")).status, 403)
  assert.equal((await copyTo("/users/ann")).status, 403)
  assert.equal((await copyTo("/users/ann/none/dst")).status, 409)
  assert.equal((await copyTo("/users/ann/shallow", { depth: "0" })).status, 201)
  assert.deepEqual(readdirSync(server.at("shallow")), [])
  assert.equal(readFileSync(server.at("dst/f"), "utf8"), "f")
})

test("a move replaces its target and treats locks and properties as RFC 4918 requires", async () => {
  await server.ask("PUT", "/users/ann/m1", { body: "1" })
  await server.ask("PUT", "/users/ann/m2", { body: "2" })
  const patch = '<propertyupdate xmlns="DAV:"><set><prop><color xmlns="urn:x">blue</color></prop></set></propertyupdate>'
  assert.equal((await server.ask("PROPPATCH", "/users/ann/m1", { body: patch })).status, 207)
  assert.equal((await server.ask("MOVE", "/users/ann/m1", { headers: { destination: "/users/ann/m2" } })).status, 204)
  assert.equal(readFileSync(server.at("m2"), "utf8"), "1")
  assert.match((await propfind("/users/ann/m2", "0")).text, /<x:color xmlns:x="urn:x">blue<\/x:color>/)
  assert.equal(existsSync(server.at("m1")), false)
})

test("a lock excludes clients without its token", async () => {
  await server.ask("PUT", "/users/ann/l", { body: "1" })
  const response = await server.ask("LOCK", "/users/ann/l", { body: lockBody, headers: { timeout: "Second-99999999" } })
  const token = response.headers["lock-token"] ?? ""
  assert.match(response.text, /<D:timeout>Second-3600</)
  const refused = await server.ask("PUT", "/users/ann/l", { body: "2" })
  assert.equal(refused.status, 423)
  assert.match(refused.text, /<D:lock-token-submitted><D:href>\/users\/ann\/l</)
  for (const [method, headers] of [
    ["DELETE", {}],
    ["MOVE", { destination: "/users/ann/l2" }],
    ["LOCK", {}],
    ["PROPPATCH", {}],
  ] as const) {
    const body =
      method === "LOCK"
        ? lockBody
        : method === "PROPPATCH"
          ? '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="y"/></prop></set></propertyupdate>'
          : ""
    assert.equal((await server.ask(method, "/users/ann/l", { headers, body })).status, 423, method)
  }
  assert.equal((await server.ask("PUT", "/users/ann/l", { body: "2", headers: { if: `(${token})` } })).status, 204)
  assert.equal((await server.ask("PUT", "/users/ann/l", { body: "2", headers: { if: "(<urn:uuid:other>)" } })).status, 412)
  assert.equal((await server.ask("PUT", "/users/ann/l", { body: "2", headers: { if: "nonsense" } })).status, 400)
  assert.equal((await server.ask("UNLOCK", "/users/ann/l", { headers: { "lock-token": token } })).status, 204)
  const unlocked = await server.ask("UNLOCK", "/users/ann/l", { headers: { "lock-token": token } })
  const refreshed = await server.ask("LOCK", "/users/ann/l", { headers: { if: `(${token})` } })
  assert.deepEqual([unlocked.status, refreshed.status], [409, 412])
  for (const { text } of [unlocked, refreshed])
    assert.match(text, /<D:error xmlns:D="DAV:"><D:lock-token-matches-request-uri\/><\/D:error>/)
  assert.equal((await server.ask("DELETE", "/users/ann/l")).status, 204)
})

test("another person's lock token gives no access", async () => {
  server.makeDirectory("data/both")
  server.authority.add("eva", { "/data/both": "write" })
  server.authority.add("finn", { "/data/both": "write" })
  server.makeDirectory("users/eva")
  server.files.invalidate()
  const { headers } = await server.ask("LOCK", "/data/both/x", { body: lockBody, user: "eva" })
  const submitted = { if: `(${headers["lock-token"]})` }
  assert.equal((await server.ask("PUT", "/data/both/x", { user: "finn", headers: submitted, body: "x" })).status, 423)
  assert.equal((await server.ask("UNLOCK", "/data/both/x", { user: "finn", headers: { "lock-token": headers["lock-token"] } })).status, 403)
  assert.equal((await server.ask("PUT", "/data/both/x", { user: "eva", headers: submitted, body: "x" })).status, 204)
})

test("a PROPPATCH of a live property is refused as a whole", async () => {
  await server.ask("PUT", "/users/ann/p", { body: "" })
  const body = '<propertyupdate xmlns="DAV:"><set><prop><getetag>x</getetag><c xmlns="urn:x"/></prop></set></propertyupdate>'
  const answer = await server.ask("PROPPATCH", "/users/ann/p", { body })
  assert.equal(answer.status, 207)
  assert.match(answer.text, /getetag.*403 Forbidden.*cannot-modify-protected-property/)
  assert.match(answer.text, /<x:c xmlns:x="urn:x"\/><\/D:prop><D:status>HTTP\/1.1 424/)
  assert.doesNotMatch((await propfind("/users/ann/p", "0")).text, /urn:x/)
})

test("a PROPFIND by name separates present from missing properties", async () => {
  const body =
    '<propfind xmlns="DAV:"><prop><getcontentlength/><quota-available-bytes/><none xmlns="urn:&quot;&amp;"/><bare xmlns=""/></prop></propfind>'
  const answer = await server.ask("PROPFIND", "/users/ann/", { body, headers: { depth: "0" } })
  assert.match(answer.text, /<D:quota-available-bytes>\d+<\/D:quota-available-bytes><\/D:prop><D:status>HTTP\/1.1 200 OK/)
  assert.match(answer.text, /<D:multistatus xmlns:D="DAV:" xmlns:n0="urn:&quot;&amp;">/)
  assert.match(answer.text, /<D:getcontentlength\/><n0:none\/><bare\/><\/D:prop><D:status>HTTP\/1.1 404/)
})
