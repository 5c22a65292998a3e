import assert from "node:assert/strict"
import { closeSync, existsSync, ftruncateSync, openSync, readFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { Writable } from "node:stream"
import { after, before, test } from "node:test"
import { queryObjects } from "node:v8"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { sendFile } from "./send-file.ts"

let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start()
})
after(() => server[Symbol.asyncDispose]())

const propfind = (path: string, depth = "1", user = "ann") => server.ask("PROPFIND", path, { headers: { depth }, user })
const hrefs = (xml: string) => [...xml.matchAll(/<D:href>([^<]*)</g)].map(([, href]) => href)

const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'

test("GET returns the bytes of a PUT with media type, length and validators", async () => {
  const put = await server.ask("PUT", "/users/ann/a.csv", { body: "x,y\n1,2\n" })
  assert.equal(put.status, 201)
  const response = await server.ask("GET", "/users/ann/a.csv")
  assert.equal(response.status, 200)
  assert.equal(response.text, "x,y\n1,2\n")
  assert.equal(response.headers["content-type"], "text/csv; charset=utf-8")
  assert.equal(response.headers["content-length"], "8")
  assert.equal(response.headers.etag, put.headers.etag)
  assert.ok(Date.parse(response.headers["last-modified"] ?? "") > 0)
  const head = await server.ask("HEAD", "/users/ann/a.csv")
  assert.equal(head.headers["content-length"], "8")
  assert.equal(head.text, "")
  assert.equal((await server.ask("PUT", "/users/ann/a.csv", { body: "" })).status, 204)
  assert.equal((await server.ask("GET", "/users/ann/a.csv")).text, "")
})

test("no response runs in a browser, and only inert media types are shown inline", async () => {
  await server.ask("PUT", "/users/ann/page.html", { body: "<script>alert(1)</script>" })
  await server.ask("PUT", "/users/ann/note.txt", { body: "hello" })
  await server.ask("PUT", "/users/ann/image.svg", { body: "<svg/>" })
  const answers = await Promise.all(
    ["page.html", "note.txt", "image.svg", "missing"].map((name) => server.ask("GET", `/users/ann/${name}`)),
  )
  for (const { headers } of [...answers, await propfind("/users/ann/"), await server.ask("GET", "/", { user: null })]) {
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

test("a range request returns the requested part", async () => {
  await server.ask("PUT", "/users/ann/r.bin", { body: "0123456789" })
  const part = async (range: string, headers = {}) => {
    const answer = await server.ask("GET", "/users/ann/r.bin", { headers: { range, ...headers } })
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
  const { etag } = (await server.ask("HEAD", "/users/ann/r.bin")).headers
  assert.deepEqual(await part("bytes=0-1", { "if-range": etag }), [206, "01", "bytes 0-1/10"])
})

test("a large file is returned whole, and in parts", async () => {
  const bytes = Buffer.alloc(5_000_000, "0123456789abcdef\n")
  assert.equal((await server.ask("PUT", "/users/ann/large", { body: bytes })).status, 201)
  assert.ok((await server.ask("GET", "/users/ann/large")).body.equals(bytes))
  const part = await server.ask("GET", "/users/ann/large", { headers: { range: "bytes=1000000-4000000" } })
  assert.ok(part.body.equals(bytes.subarray(1_000_000, 4_000_001)))
  const chunked = await server.ask("PUT", "/users/ann/chunked", { body: bytes, headers: { "transfer-encoding": "chunked" } })
  assert.equal(chunked.status, 201)
  assert.ok(readFileSync(server.at("chunked")).equals(bytes))
})

test("preconditions apply to reads and writes", async () => {
  const { etag } = (await server.ask("PUT", "/users/ann/c.txt", { body: "1" })).headers
  const status = async (method: string, headers: Record<string, string>) =>
    (await server.ask(method, "/users/ann/c.txt", method === "PUT" ? { headers, body: "2" } : { headers })).status
  assert.equal(await status("GET", { "if-none-match": etag ?? "" }), 304)
  assert.equal(await status("GET", { "if-none-match": `W/${etag}` }), 304)
  assert.equal(await status("GET", { "if-none-match": '"x"' }), 200)
  assert.equal(await status("GET", { "if-match": '"x"' }), 412)
  assert.equal(await status("GET", { "if-modified-since": new Date(Date.now() + 5_000).toUTCString() }), 304)
  assert.equal(await status("GET", { "if-unmodified-since": new Date(0).toUTCString() }), 412)
  assert.equal(await status("PUT", { "if-none-match": "*" }), 412)
  assert.equal(await status("PUT", { "if-match": '"x"' }), 412)
  assert.equal(await status("DELETE", { "if-match": '"x"' }), 412)
  assert.equal(readFileSync(server.at("c.txt"), "utf8"), "1")
  assert.equal(await status("PUT", { "if-match": etag ?? "" }), 204)
  assert.equal(await status("PUT", { "if-match": etag ?? "" }), 412)
  assert.equal((await server.ask("PUT", "/users/ann/new.txt", { headers: { "if-match": "*" }, body: "x" })).status, 412)
})

test("directories are created, listed and deleted with their content", async () => {
  assert.equal((await server.ask("MKCOL", "/users/ann/d/")).status, 201)
  assert.equal((await server.ask("MKCOL", "/users/ann/d")).status, 405)
  assert.equal((await server.ask("MKCOL", "/users/ann/d/e")).status, 201)
  await server.ask("PUT", "/users/ann/d/e/f%20%C3%BC", { body: "x" })
  assert.deepEqual(hrefs((await propfind("/users/ann/d", "0")).text), ["/users/ann/d/"])
  assert.deepEqual(hrefs((await propfind("/users/ann/d/", "1")).text), ["/users/ann/d/", "/users/ann/d/e/"])
  assert.deepEqual(hrefs((await propfind("/users/ann/d/", "infinity")).text), [
    "/users/ann/d/",
    "/users/ann/d/e/",
    "/users/ann/d/e/f%20%C3%BC",
  ])
  assert.equal((await server.ask("GET", "/users/ann/d/")).status, 405)
  assert.equal((await server.ask("DELETE", "/users/ann/d/")).status, 204)
  assert.equal((await propfind("/users/ann/d/")).status, 404)
  assert.equal(existsSync(server.at("d")), false)
})

test("a missing parent returns 409 where the caller may write and 404 elsewhere", async () => {
  for (const method of ["PUT", "MKCOL", "LOCK"]) {
    const body = method === "LOCK" ? lockBody : ""
    assert.equal((await server.ask(method, "/users/ann/no/x", { body })).status, 409, method)
    assert.equal((await server.ask(method, "/users/bob/no/x", { body })).status, 404, method)
  }
  await server.ask("PUT", "/users/ann/file", { body: "x" })
  assert.equal((await server.ask("PUT", "/users/ann/file/x", { body: "x" })).status, 409)
})

test("the modification time that a client sends is stored", async () => {
  const put = await server.ask("PUT", "/users/ann/dated", { body: "x", headers: { "x-oc-mtime": "1234567890" } })
  assert.equal(put.headers["x-oc-mtime"], "accepted")
  const response = await server.ask("HEAD", "/users/ann/dated")
  assert.equal(response.headers["last-modified"], "Fri, 13 Feb 2009 23:31:30 GMT")
  assert.equal(response.headers.etag, put.headers.etag)
  assert.equal(
    (await server.ask("PUT", "/users/ann/dated", { body: "x", headers: { "x-oc-mtime": "soon" } })).headers["x-oc-mtime"],
    undefined,
  )
})

test("a long download keeps nothing of the chunks that were sent", async () => {
  const size = 80 * 2 ** 20
  const fd = openSync(server.at("sparse"), "w+")
  ftruncateSync(fd, size)
  const counts: number[] = []
  let chunks = 0
  const response = new Writable({
    write(_chunk, _encoding, done) {
      chunks += 1
      if (chunks === 10 || chunks === 70) counts.push(queryObjects(Promise, { format: "count" }))
      done()
    },
  })
  await sendFile({ response: response as unknown as ServerResponse, userId: 1 }, fd, { start: 0, end: size })
  closeSync(fd)
  assert.equal(chunks, 80)
  const [early = 0, late = 0] = counts
  assert.ok(early > 0 && late - early < 30, `${early} promises after 10 chunks, ${late} after 70`)
})
