import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { asRoot, basic, FilesWorld } from "../../test/fixtures/files-world.ts"

let world: FilesWorld
before(async () => {
  world = await FilesWorld.start()
})
after(() => world[Symbol.asyncDispose]())

const propfind = (path: string, depth = "1", user = "ann") => world.ask("PROPFIND", path, { headers: { depth }, user })
const hrefs = (xml: string) => [...xml.matchAll(/<D:href>([^<]*)</g)].map(([, href]) => href)
const methods = ["OPTIONS", "GET", "HEAD", "PUT", "DELETE", "MKCOL", "PROPFIND", "PROPPATCH", "COPY", "MOVE", "LOCK", "UNLOCK"]

test("a file that was put is got back, byte for byte, and tells its kind, length and validators", async () => {
  const put = await world.ask("PUT", "/users/ann/a.csv", { body: "x,y\n1,2\n" })
  assert.equal(put.status, 201)
  const got = await world.ask("GET", "/users/ann/a.csv")
  assert.equal(got.status, 200)
  assert.equal(got.text, "x,y\n1,2\n")
  assert.equal(got.headers["content-type"], "text/csv; charset=utf-8")
  assert.equal(got.headers["content-length"], "8")
  assert.equal(got.headers.etag, put.headers.etag)
  assert.ok(Date.parse(got.headers["last-modified"] ?? "") > 0)
  const head = await world.ask("HEAD", "/users/ann/a.csv")
  assert.equal(head.headers["content-length"], "8")
  assert.equal(head.text, "")
  assert.equal((await world.ask("PUT", "/users/ann/a.csv", { body: "" })).status, 204)
  assert.equal((await world.ask("GET", "/users/ann/a.csv")).text, "")
})

test("no answer can be run by a browser, and only kinds that cannot carry anything are shown", async () => {
  await world.ask("PUT", "/users/ann/page.html", { body: "<script>alert(1)</script>" })
  await world.ask("PUT", "/users/ann/note.txt", { body: "hello" })
  await world.ask("PUT", "/users/ann/image.svg", { body: "<svg/>" })
  const answers = await Promise.all(["page.html", "note.txt", "image.svg", "missing"].map((name) => world.ask("GET", `/users/ann/${name}`)))
  for (const { headers } of [...answers, await propfind("/users/ann/"), await world.ask("GET", "/", { user: null })]) {
    assert.equal(headers["content-security-policy"], "sandbox; default-src 'none'")
    assert.equal(headers["x-content-type-options"], "nosniff")
    assert.equal(headers["cross-origin-resource-policy"], "same-origin")
    assert.match(headers["cache-control"] ?? "", /^(private, no-cache|no-store)$/)
    assert.equal(headers["access-control-allow-origin"], undefined)
  }
  assert.deepEqual(
    answers.map(({ headers }) => headers["content-disposition"]),
    ["attachment", undefined, "attachment", undefined],
  )
})

test("a part of a file is answered as asked", async () => {
  await world.ask("PUT", "/users/ann/r.bin", { body: "0123456789" })
  const part = async (range: string, headers = {}) => {
    const answer = await world.ask("GET", "/users/ann/r.bin", { headers: { range, ...headers } })
    return [answer.status, answer.text, answer.headers["content-range"]]
  }
  assert.deepEqual(await part("bytes=2-4"), [206, "234", "bytes 2-4/10"])
  assert.deepEqual(await part("bytes=-3"), [206, "789", "bytes 7-9/10"])
  assert.deepEqual(await part("bytes=8-99"), [206, "89", "bytes 8-9/10"])
  assert.deepEqual((await part("bytes=10-")).slice(0, 1), [416])
  assert.equal((await part("bytes=10-"))[2], "bytes */10")
  assert.deepEqual(await part("bytes=0-1,5-6"), [200, "0123456789", undefined])
  assert.deepEqual(await part("lines=1-2"), [200, "0123456789", undefined])
  assert.deepEqual(await part("bytes=0-1", { "if-range": '"another"' }), [200, "0123456789", undefined])
  const { etag } = (await world.ask("HEAD", "/users/ann/r.bin")).headers
  assert.deepEqual(await part("bytes=0-1", { "if-range": etag }), [206, "01", "bytes 0-1/10"])
})

test("a large file comes back whole, and in parts", async () => {
  const bytes = Buffer.alloc(5_000_000, "0123456789abcdef\n")
  assert.equal((await world.ask("PUT", "/users/ann/large", { body: bytes })).status, 201)
  assert.ok((await world.ask("GET", "/users/ann/large")).body.equals(bytes))
  const part = await world.ask("GET", "/users/ann/large", { headers: { range: "bytes=1000000-4000000" } })
  assert.ok(part.body.equals(bytes.subarray(1_000_000, 4_000_001)))
  const chunked = await world.ask("PUT", "/users/ann/chunked", { body: bytes, headers: { "transfer-encoding": "chunked" } })
  assert.equal(chunked.status, 201)
  assert.ok(readFileSync(world.at("chunked")).equals(bytes))
})

test("preconditions are kept, on reading and on writing", async () => {
  const { etag } = (await world.ask("PUT", "/users/ann/c.txt", { body: "1" })).headers
  const status = async (method: string, headers: Record<string, string>) =>
    (await world.ask(method, "/users/ann/c.txt", method === "PUT" ? { headers, body: "2" } : { headers })).status
  assert.equal(await status("GET", { "if-none-match": etag ?? "" }), 304)
  assert.equal(await status("GET", { "if-none-match": `W/${etag}` }), 304)
  assert.equal(await status("GET", { "if-none-match": '"x"' }), 200)
  assert.equal(await status("GET", { "if-match": '"x"' }), 412)
  assert.equal(await status("GET", { "if-modified-since": new Date(Date.now() + 5_000).toUTCString() }), 304)
  assert.equal(await status("GET", { "if-unmodified-since": new Date(0).toUTCString() }), 412)
  assert.equal(await status("PUT", { "if-none-match": "*" }), 412)
  assert.equal(await status("PUT", { "if-match": '"x"' }), 412)
  assert.equal(await status("DELETE", { "if-match": '"x"' }), 412)
  assert.equal(readFileSync(world.at("c.txt"), "utf8"), "1")
  assert.equal(await status("PUT", { "if-match": etag ?? "" }), 204)
  assert.equal(await status("PUT", { "if-match": etag ?? "" }), 412)
  assert.equal((await world.ask("PUT", "/users/ann/new.txt", { headers: { "if-match": "*" }, body: "x" })).status, 412)
})

test("directories are made, listed and deleted with all that is in them", async () => {
  assert.equal((await world.ask("MKCOL", "/users/ann/d/")).status, 201)
  assert.equal((await world.ask("MKCOL", "/users/ann/d")).status, 405)
  assert.equal((await world.ask("MKCOL", "/users/ann/d/e")).status, 201)
  await world.ask("PUT", "/users/ann/d/e/f%20%C3%BC", { body: "x" })
  assert.deepEqual(hrefs((await propfind("/users/ann/d", "0")).text), ["/users/ann/d/"])
  assert.deepEqual(hrefs((await propfind("/users/ann/d/", "1")).text), ["/users/ann/d/", "/users/ann/d/e/"])
  assert.deepEqual(hrefs((await propfind("/users/ann/d/", "infinity")).text), [
    "/users/ann/d/",
    "/users/ann/d/e/",
    "/users/ann/d/e/f%20%C3%BC",
  ])
  assert.equal((await world.ask("GET", "/users/ann/d/")).status, 405)
  assert.equal((await world.ask("DELETE", "/users/ann/d/")).status, 204)
  assert.equal((await propfind("/users/ann/d/")).status, 404)
  assert.equal(existsSync(world.at("d")), false)
})

test("a missing parent is a conflict where the caller may write, and does not exist elsewhere", async () => {
  for (const method of ["PUT", "MKCOL", "LOCK"]) {
    const body = method === "LOCK" ? lockBody : ""
    assert.equal((await world.ask(method, "/users/ann/no/x", { body })).status, 409, method)
    assert.equal((await world.ask(method, "/users/bob/no/x", { body })).status, 404, method)
  }
  await world.ask("PUT", "/users/ann/file", { body: "x" })
  assert.equal((await world.ask("PUT", "/users/ann/file/x", { body: "x" })).status, 409)
})
const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'

test("what the caller may not see does not exist for them, for every method", async () => {
  await world.ask("PUT", "/users/bob/secret", { body: "x", user: "bob" })
  for (const path of ["/users/bob", "/users/bob/", "/users/bob/secret", "/users/bob/missing", "/users/nobody/x", "/elsewhere"]) {
    for (const method of methods) {
      const answer = await world.ask(method, path, { body: method === "PROPPATCH" ? "<x/>" : "" })
      assert.equal(answer.status, 404, `${method} ${path}`)
      if (method !== "HEAD") assert.deepEqual(Object.keys(JSON.parse(answer.text)), ["ok", "msg", "code"])
    }
  }
  for (const method of ["COPY", "MOVE"]) {
    await world.ask("PUT", "/users/ann/mine", { body: "x" })
    assert.equal((await world.ask(method, "/users/ann/mine", { headers: { destination: "/users/bob/mine" } })).status, 404)
  }
  assert.equal(readFileSync(join(world.root, "users/bob/secret"), "utf8"), "x")
})

test("a directory above shows only the way to what the caller may see", async () => {
  assert.deepEqual(hrefs((await propfind("/", "infinity", "bob")).text).slice(0, 3), ["/", "/users/", "/users/bob/"])
  assert.equal((await world.ask("PUT", "/users/x", { body: "x" })).status, 404)
  assert.equal((await world.ask("DELETE", "/users")).status, 403)
  assert.equal((await world.ask("DELETE", "/users/ann")).status, 403)
  assert.equal((await world.ask("MOVE", "/users/ann", { headers: { destination: "/users/ann2" } })).status, 403)
  assert.equal((await world.ask("COPY", "/users", { headers: { destination: "/users/ann/all" } })).status, 403)
})

test("a read right reads, and changes nothing", async () => {
  world.makeDirectory("data/shared")
  writeFileSync(join(world.root, "data/shared/f"), "x")
  world.authority.add("carl", { "/data/shared": "read" })
  assert.equal((await world.ask("GET", "/data/shared/f", { user: "carl" })).text, "x")
  for (const method of ["PUT", "DELETE", "MKCOL", "PROPPATCH", "LOCK", "UNLOCK"]) {
    assert.equal((await world.ask(method, "/data/shared/f", { user: "carl", body: "" })).status, 403, method)
  }
  assert.equal((await world.ask("MOVE", "/data/shared/f", { user: "carl", headers: { destination: "/users/carl/f" } })).status, 403)
})

test("a proof that may only read changes nothing", async () => {
  world.makeDirectory("users/dora")
  world.authority.add("dora", {}, { readOnly: true })
  for (const method of methods.filter((one) => !["OPTIONS", "GET", "HEAD", "PROPFIND"].includes(one))) {
    assert.equal((await world.ask(method, "/users/dora/x", { user: "dora", body: "" })).status, 403, method)
  }
  assert.equal((await propfind("/users/dora/", "0", "dora")).status, 207)
})

test("without a proof that holds nothing is told but that one is wanted", async () => {
  for (const user of [null, "ann:wrong", "nobody"]) {
    for (const method of methods) {
      const answer = await world.ask(method, "/users/ann/a.csv", { user })
      assert.equal(answer.status, 401)
      assert.equal(answer.headers["www-authenticate"], 'Basic realm="Quayside"')
    }
  }
  const slowed = await world.ask("GET", "/", { user: "slowed" })
  assert.equal(slowed.status, 429)
  assert.equal(slowed.headers["retry-after"], "7")
})

test("a write that a browser sends for a page of another place is refused", async () => {
  const refused = [
    { origin: "http://evil.example" },
    { origin: "null" },
    { origin: world.url },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ]
  for (const headers of refused) {
    for (const method of ["PUT", "DELETE", "MKCOL", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK"]) {
      assert.equal((await world.ask(method, "/users/ann/csrf", { headers, body: "" })).status, 403, `${method} ${JSON.stringify(headers)}`)
    }
  }
  assert.equal((await world.ask("PUT", "/users/ann/ok", { headers: { "sec-fetch-site": "none" }, body: "" })).status, 201)
  assert.equal((await world.ask("GET", "/users/ann/ok", { headers: { "sec-fetch-site": "cross-site" } })).status, 200)
})

test("Host must be ours", async () => {
  const status = async (host: string) => (await world.ask("OPTIONS", "/", { headers: { host } })).status
  for (const host of ["localhost", "127.0.0.1:8082", "[::1]:8082", "files.example.com", "FILES.example.com:443"])
    assert.equal(await status(host), 200, host)
  for (const host of ["evil.example", "x.localhost", "localhost.evil.example", "a@localhost", "localhost:80:80", "128.0.0.1"])
    assert.equal(await status(host), 400, host)
})

test("a header that decides whose request it is stands once", async () => {
  const twice = ["Host: localhost", `Authorization: ${basic("bob")}`, "Destination: /users/ann/y", "Depth: 1"]
  for (const line of twice) {
    const connection = await world.raw()
    connection.write(
      `COPY /users/ann/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\nDestination: /users/ann/y\r\nDepth: 0\r\n${line}\r\n\r\n`,
    )
    assert.match(await connection.until("\r\n\r\n{"), /^HTTP\/1.1 400 /, line)
    connection.socket.destroy()
  }
})

test("the time of modification that a client sends is kept", async () => {
  const put = await world.ask("PUT", "/users/ann/dated", { body: "x", headers: { "x-oc-mtime": "1234567890" } })
  assert.equal(put.headers["x-oc-mtime"], "accepted")
  const got = await world.ask("HEAD", "/users/ann/dated")
  assert.equal(got.headers["last-modified"], "Fri, 13 Feb 2009 23:31:30 GMT")
  assert.equal(got.headers.etag, put.headers.etag)
  assert.equal(
    (await world.ask("PUT", "/users/ann/dated", { body: "x", headers: { "x-oc-mtime": "soon" } })).headers["x-oc-mtime"],
    undefined,
  )
})

test("links, FIFOs and sockets do not exist", async () => {
  mkdirSync(world.at("odd"))
  world.makeDirectory("users/ann/odd")
  writeFileSync(join(world.folder, "outside/secret"), "secret")
  symlinkSync(join(world.folder, "outside/secret"), world.at("odd/link"))
  symlinkSync(join(world.folder, "outside"), world.at("odd/folder"))
  symlinkSync("nowhere", world.at("odd/dangling"))
  execFileSync("mkfifo", [world.at("odd/fifo")])
  const socket = createServer().listen(world.at("odd/socket"))
  await new Promise((resolve) => socket.once("listening", resolve))
  for (const name of ["link", "folder", "folder/secret", "dangling", "fifo", "socket"]) {
    for (const method of ["GET", "HEAD", "PROPFIND", "DELETE", "PROPPATCH", "COPY", "MOVE"]) {
      const body = method === "PROPPATCH" ? '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="y"/></prop></set></propertyupdate>' : ""
      const answer = await world.ask(method, `/users/ann/odd/${name}`, { body, headers: { destination: "/users/ann/odd/copy" } })
      assert.equal(answer.status, 404, `${method} ${name}`)
    }
    for (const method of ["PUT", "MKCOL", "LOCK"]) {
      const answer = await world.ask(method, `/users/ann/odd/${name}`, { body: method === "LOCK" ? lockBody : "" })
      assert.equal(answer.status, 409, `${method} ${name}`)
    }
  }
  assert.deepEqual(hrefs((await propfind("/users/ann/odd", "infinity")).text), ["/users/ann/odd/"])
  assert.equal((await world.ask("COPY", "/users/ann/odd", { headers: { destination: "/users/ann/odd2" } })).status, 201)
  assert.deepEqual(readdirSync(world.at("odd2")), [])
  assert.equal((await world.ask("DELETE", "/users/ann/odd")).status, 204)
  assert.equal(readFileSync(join(world.folder, "outside/secret"), "utf8"), "secret")
  socket.close()
})

test("a hard link is cut off by a write, not written through", async () => {
  writeFileSync(join(world.folder, "outside/linked"), "old")
  linkSync(join(world.folder, "outside/linked"), world.at("hard"))
  assert.equal((await world.ask("PUT", "/users/ann/hard", { body: "new" })).status, 204)
  assert.equal(readFileSync(join(world.folder, "outside/linked"), "utf8"), "old")
})

test("names may have 255 bytes, and may be anything that UTF-8 is", async () => {
  const long = "ü".repeat(127)
  assert.equal((await world.ask("PUT", `/users/ann/${encodeURIComponent(`${long}x`)}`, { body: "x" })).status, 201)
  for (const method of ["PUT", "MKCOL", "LOCK"]) {
    const body = method === "LOCK" ? lockBody : ""
    assert.equal((await world.ask(method, `/users/ann/${encodeURIComponent(`${long}xx`)}`, { body })).status, 400, method)
  }
  assert.equal((await world.ask("GET", `/users/ann/${"x".repeat(300)}`)).status, 404)
  const odd = "a b&<>\"'\\\n\t🙂 %2F#?"
  assert.equal((await world.ask("PUT", `/users/ann/${encodeURIComponent(odd)}`, { body: "odd" })).status, 201)
  assert.equal(readFileSync(world.at(odd), "utf8"), "odd")
  const listed = (await propfind("/users/ann/")).text
  assert.ok(hrefs(listed).includes(`/users/ann/${encodeURIComponent(odd).replace("'", "%27")}`))
})

test("a trailing slash stands for a directory", async () => {
  await world.ask("PUT", "/users/ann/plain", { body: "x" })
  assert.equal((await world.ask("GET", "/users/ann/plain/")).status, 404)
  assert.equal((await propfind("/users/ann/plain/")).status, 404)
  assert.equal((await world.ask("DELETE", "/users/ann/plain/")).status, 404)
  assert.equal((await world.ask("PUT", "/users/ann/plain/", { body: "y" })).status, 405)
  assert.equal(readFileSync(world.at("plain"), "utf8"), "x")
})

test("a listing is as deep as its limit, and beyond is told to be too deep", async () => {
  await using small = await FilesWorld.start({ limits: { deepEntries: 5 } })
  for (const name of ["1", "2", "3", "4"]) await small.ask("PUT", `/users/ann/${name}`, { body: "" })
  const ask = (depth?: string) => small.ask("PROPFIND", "/users/ann/", { headers: depth ? { depth } : {} })
  assert.equal((await ask("infinity")).status, 207)
  await small.ask("PUT", "/users/ann/5", { body: "" })
  for (const depth of ["infinity", undefined]) {
    const refused = await ask(depth)
    assert.equal(refused.status, 403)
    assert.match(refused.text, /<D:error xmlns:D="DAV:"><D:propfind-finite-depth\/>/)
  }
  assert.equal(hrefs((await ask("1")).text).length, 6)
})

test("a listing of many entries holds each once", async () => {
  world.makeDirectory("users/ann/many")
  for (let i = 0; i < 1_500; i += 1) writeFileSync(world.at("many", String(i)), "")
  const listed = await propfind("/users/ann/many/")
  assert.equal(listed.headers["transfer-encoding"], "chunked")
  assert.equal(new Set(hrefs(listed.text)).size, 1_501)
  assert.ok(listed.text.endsWith("</D:multistatus>\n"))
  assert.equal((await world.ask("DELETE", "/users/ann/many/")).status, 204)
})

test("a name that is not UTF-8 is not listed, but goes with its directory", async () => {
  world.makeDirectory("users/ann/bytes")
  writeFileSync(Buffer.concat([Buffer.from(`${world.at("bytes")}/`), Buffer.from([0xff, 0xfe])]), "x")
  assert.deepEqual(hrefs((await propfind("/users/ann/bytes")).text), ["/users/ann/bytes/"])
  assert.equal((await world.ask("COPY", "/users/ann/bytes", { headers: { destination: "/users/ann/bytes2" } })).status, 201)
  assert.equal(readdirSync(world.at("bytes2"), { encoding: "buffer" }).length, 1)
  assert.equal((await world.ask("DELETE", "/users/ann/bytes")).status, 204)
  assert.equal(existsSync(world.at("bytes")), false)
})

test("XML that is too long, too deep, has a DTD or is none is refused", async () => {
  const status = async (body: string) => (await world.ask("PROPFIND", "/users/ann/", { body, headers: { depth: "0" } })).status
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

test("a body that is refused does not spoil the connection's answer", async () => {
  const big = Buffer.alloc(3_000_000)
  const answer = await world.ask("PUT", "/users/ann/no/such/parent", { body: big })
  assert.equal(answer.status, 409)
  assert.equal((await world.ask("PUT", "/users/bob/x", { body: big })).status, 404)
})

test("what HTTP itself refuses has the failure object, too", async () => {
  const refusal = async (text: string) => {
    const connection = await world.raw()
    connection.write(text)
    const [head = "", body = "{}"] = (await connection.end()).split("\r\n\r\n")
    return [Number(head.split(" ")[1]), JSON.parse(body).code]
  }
  assert.deepEqual(await refusal("GET nonsense HTTP/1.1\r\n\r\n"), [400, "invalid"])
  assert.deepEqual(await refusal("BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n"), [405, "method_not_allowed"])
  assert.deepEqual(await refusal(`GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`), [431, "headers_too_large"])
  assert.deepEqual(await refusal("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), [400, "invalid"])
})

test("an unknown method is refused with the ones there are", async () => {
  const answer = await world.ask("PATCH", "/users/ann/x", { body: "" })
  assert.equal(answer.status, 405)
  assert.match(answer.headers.allow ?? "", /OPTIONS, GET, HEAD, PUT/)
})

test("a copy is whole, and leaves nothing behind where it may not be", async () => {
  await world.ask("MKCOL", "/users/ann/src")
  await world.ask("PUT", "/users/ann/src/f", { body: "f" })
  const copyTo = (destination: string, headers = {}) => world.ask("COPY", "/users/ann/src", { headers: { destination, ...headers } })
  assert.equal((await copyTo("/users/ann/dst")).status, 201)
  assert.equal((await copyTo(`${world.url}/users/ann/dst`)).status, 204)
  assert.equal((await copyTo("/users/ann/dst", { overwrite: "F" })).status, 412)
  assert.equal((await copyTo("http://elsewhere.example/users/ann/dst")).status, 502)
  assert.equal((await copyTo("/users/ann/src/inside")).status, 403)
  assert.equal((await copyTo("/users/ann/src")).status, 403)
  assert.equal((await copyTo("/users/ann")).status, 403)
  assert.equal((await copyTo("/users/ann/none/dst")).status, 409)
  assert.equal((await copyTo("/users/ann/shallow", { depth: "0" })).status, 201)
  assert.deepEqual(readdirSync(world.at("shallow")), [])
  assert.equal(readFileSync(world.at("dst/f"), "utf8"), "f")
})

test("a move replaces, and takes locks and properties as RFC 4918 says", async () => {
  await world.ask("PUT", "/users/ann/m1", { body: "1" })
  await world.ask("PUT", "/users/ann/m2", { body: "2" })
  const patch = '<propertyupdate xmlns="DAV:"><set><prop><color xmlns="urn:x">blue</color></prop></set></propertyupdate>'
  assert.equal((await world.ask("PROPPATCH", "/users/ann/m1", { body: patch })).status, 207)
  assert.equal((await world.ask("MOVE", "/users/ann/m1", { headers: { destination: "/users/ann/m2" } })).status, 204)
  assert.equal(readFileSync(world.at("m2"), "utf8"), "1")
  assert.match((await propfind("/users/ann/m2", "0")).text, /<x:color xmlns:x="urn:x">blue<\/x:color>/)
  assert.equal(existsSync(world.at("m1")), false)
})

test("a lock keeps other clients out, and whoever holds its token in", async () => {
  await world.ask("PUT", "/users/ann/l", { body: "1" })
  const taken = await world.ask("LOCK", "/users/ann/l", { body: lockBody, headers: { timeout: "Second-99999999" } })
  const token = taken.headers["lock-token"] ?? ""
  assert.match(taken.text, /<D:timeout>Second-3600</)
  const refused = await world.ask("PUT", "/users/ann/l", { body: "2" })
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
    assert.equal((await world.ask(method, "/users/ann/l", { headers, body })).status, 423, method)
  }
  assert.equal((await world.ask("PUT", "/users/ann/l", { body: "2", headers: { if: `(${token})` } })).status, 204)
  assert.equal((await world.ask("PUT", "/users/ann/l", { body: "2", headers: { if: "(<urn:uuid:other>)" } })).status, 412)
  assert.equal((await world.ask("PUT", "/users/ann/l", { body: "2", headers: { if: "nonsense" } })).status, 400)
  assert.equal((await world.ask("UNLOCK", "/users/ann/l", { headers: { "lock-token": token } })).status, 204)
  assert.equal((await world.ask("UNLOCK", "/users/ann/l", { headers: { "lock-token": token } })).status, 409)
  assert.equal((await world.ask("DELETE", "/users/ann/l")).status, 204)
})

test("a token of somebody else's lock opens nothing", async () => {
  world.makeDirectory("data/both")
  world.authority.add("eva", { "/data/both": "write" })
  world.authority.add("finn", { "/data/both": "write" })
  world.makeDirectory("users/eva")
  world.files.invalidate()
  const { headers } = await world.ask("LOCK", "/data/both/x", { body: lockBody, user: "eva" })
  const submitted = { if: `(${headers["lock-token"]})` }
  assert.equal((await world.ask("PUT", "/data/both/x", { user: "finn", headers: submitted, body: "x" })).status, 423)
  assert.equal((await world.ask("UNLOCK", "/data/both/x", { user: "finn", headers: { "lock-token": headers["lock-token"] } })).status, 403)
  assert.equal((await world.ask("PUT", "/data/both/x", { user: "eva", headers: submitted, body: "x" })).status, 204)
})

test("the server's own properties cannot be changed, and then nothing of the request is", async () => {
  await world.ask("PUT", "/users/ann/p", { body: "" })
  const body = '<propertyupdate xmlns="DAV:"><set><prop><getetag>x</getetag><c xmlns="urn:x"/></prop></set></propertyupdate>'
  const answer = await world.ask("PROPPATCH", "/users/ann/p", { body })
  assert.equal(answer.status, 207)
  assert.match(answer.text, /getetag.*403 Forbidden.*cannot-modify-protected-property/)
  assert.match(answer.text, /<x:c xmlns:x="urn:x"\/><\/D:prop><D:status>HTTP\/1.1 424/)
  assert.doesNotMatch((await propfind("/users/ann/p", "0")).text, /urn:x/)
})

test("properties that were asked for by name are told apart from ones that there are not", async () => {
  const body =
    '<propfind xmlns="DAV:"><prop><getcontentlength/><quota-available-bytes/><none xmlns="urn:&quot;&amp;"/><bare xmlns=""/></prop></propfind>'
  const answer = await world.ask("PROPFIND", "/users/ann/", { body, headers: { depth: "0" } })
  assert.match(answer.text, /<D:quota-available-bytes>\d+<\/D:quota-available-bytes><\/D:prop><D:status>HTTP\/1.1 200 OK/)
  assert.match(answer.text, /<D:getcontentlength\/><x:none xmlns:x="urn:&quot;&amp;"\/><bare\/><\/D:prop><D:status>HTTP\/1.1 404/)
})

test("a file keeps its permission bits when its content is replaced", async () => {
  writeFileSync(world.at("run.sh"), "old", { mode: 0o755 })
  assert.equal((await world.ask("PUT", "/users/ann/run.sh", { body: "new" })).status, 204)
  assert.equal(statSync(world.at("run.sh")).mode & 0o7777, 0o755)
})

test("set-user-id bits are neither kept nor copied", async () => {
  execFileSync("install", ["-m", "6755", "/dev/null", world.at("suid")])
  await world.ask("COPY", "/users/ann/suid", { headers: { destination: "/users/ann/suid2" } })
  assert.equal(statSync(world.at("suid2")).mode & 0o7777, 0o755)
  await world.ask("PUT", "/users/ann/suid", { body: "x" })
  assert.equal(statSync(world.at("suid")).mode & 0o7777, 0o755)
})

test("a directory that its owner closed can be deleted all the same", {
  skip: asRoot && "root passes every door: the worker's tests do it",
}, async () => {
  mkdirSync(world.at("closed/inner"), { recursive: true })
  execFileSync("find", [world.at("closed"), "-depth", "-exec", "chmod", "000", "{}", ";"])
  assert.equal((await world.ask("DELETE", "/users/ann/closed")).status, 204)
  assert.equal(existsSync(world.at("closed")), false)
})

test("the files root holds nothing but people's things and the hidden place", async () => {
  const hidden = join(world.root, ".quayside/work")
  const [own = ""] = readdirSync(hidden)
  assert.deepEqual(readdirSync(join(hidden, own)), [])
  assert.equal(statSync(join(world.root, ".quayside")).mode & 0o777, 0o700)
  for (const method of methods) assert.equal((await world.ask(method, "/.quayside/work", { body: "" })).status, 404, method)
})
