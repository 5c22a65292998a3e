import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs"
import { after, before, test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { basic, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start()
})
after(() => server[Symbol.asyncDispose]())

const head = (path: string, more: string) => `PUT ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\n${more}\r\n`

test("a reader sees the old file until an upload is complete", async () => {
  await server.ask("PUT", "/users/ann/f", { body: "old" })
  const upload = await server.raw()
  upload.write(head("/users/ann/f", "Content-Length: 200000\r\n"))
  upload.write(Buffer.alloc(150_000, "n"))
  await eventually("the upload began", () => server.unfinished().length === 1)
  assert.equal((await server.ask("GET", "/users/ann/f")).text, "old")
  assert.equal(readFileSync(server.at("f"), "utf8"), "old")
  assert.deepEqual(readdirSync(server.at()), ["f"])
  upload.write(Buffer.alloc(50_000, "n"))
  assert.match(await upload.until("\r\n\r\n"), /^HTTP\/1.1 204 /)
  assert.equal(readFileSync(server.at("f"), "utf8"), "n".repeat(200_000))
  assert.deepEqual(server.unfinished(), [])
  upload.socket.destroy()
})

test("an aborted upload leaves nothing but the old file", async () => {
  await server.ask("PUT", "/users/ann/g", { body: "old" })
  for (const headers of ["Content-Length: 500000\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: 20\r\n"]) {
    for (const path of ["/users/ann/g", "/users/ann/new"]) {
      const upload = await server.raw()
      upload.write(head(path, headers))
      upload.write(headers.startsWith("T") ? "5\r\nhello\r\n" : "hello")
      // A small body is collected before there is a file.
      if (!headers.endsWith(" 20\r\n")) await eventually("the upload began", () => server.unfinished().length === 1)
      upload.socket.destroy()
      await eventually("nothing is left of it", () => server.unfinished().length === 0)
    }
  }
  assert.equal(readFileSync(server.at("g"), "utf8"), "old")
  assert.equal(existsSync(server.at("new")), false)
})

test("a file in chunks of one byte arrives whole; a PROPFIND body in such chunks is refused", async () => {
  const text = "0123456789".repeat(3_000)
  const chunks = `${[...text].map((c) => `1\r\n${c}\r\n`).join("")}0\r\n\r\n`
  const upload = await server.raw()
  upload.write(head("/users/ann/tiny", "Transfer-Encoding: chunked\r\nConnection: close\r\n"))
  upload.write(chunks)
  assert.match(await upload.end(), /^HTTP\/1.1 201 /)
  assert.equal(readFileSync(server.at("tiny"), "utf8"), text)
  const question = await server.raw()
  question.write(head("/users/ann/", "Transfer-Encoding: chunked\r\nConnection: close\r\n").replace("PUT", "PROPFIND"))
  question.write(chunks)
  assert.match(await question.end(), /^HTTP\/1.1 400 [\s\S]*larger pieces/)
})

test("a body that contradicts its headers is not stored", async () => {
  const upload = await server.raw()
  upload.write(head("/users/ann/lying", "Transfer-Encoding: chunked\r\n"))
  upload.write("5\r\nhello\r\nzz\r\n")
  await upload.end()
  await eventually("nothing is left of it", () => server.unfinished().length === 0)
  assert.equal(existsSync(server.at("lying")), false)
})

test("a client that waits for `100 Continue` is refused before its body", async () => {
  const upload = await server.raw()
  upload.write(head("/users/bob/x", "Content-Length: 1000000\r\nExpect: 100-continue\r\n"))
  assert.match(await upload.until("\r\n\r\n"), /^HTTP\/1.1 404 /)
  upload.socket.destroy()
  const expected = await server.raw()
  expected.write(head("/users/ann/wanted", "Content-Length: 5\r\nExpect: 100-continue\r\n"))
  assert.match(await expected.until("\r\n\r\n"), /^HTTP\/1.1 100 /)
  expected.write("hello")
  assert.match(await expected.until("201 Created"), /201 Created/)
  expected.socket.destroy()
})

test("a connection serves no further request after a refused `100 Continue`", async () => {
  const smuggler = await server.raw()
  smuggler.write(head("/users/bob/x", "Content-Length: 60\r\nExpect: 100-continue\r\n"))
  await smuggler.until("\r\n\r\n{")
  smuggler.write(`GET /users/ann/wanted HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\n\r\n`)
  assert.equal((await smuggler.end()).split("HTTP/1.1 ").length, 2)
})

test("a client that leaves during a download or a listing does not affect others", async () => {
  await server.ask("PUT", "/users/ann/download", { body: Buffer.alloc(20_000_000) })
  server.makeDirectory("users/ann/listed")
  for (let i = 0; i < 500; i += 1) writeFileSync(server.at("listed", String(i)), "")
  const proof = `Host: localhost\r\nAuthorization: ${basic("ann")}\r\n`
  for (let i = 0; i < 20; i += 1) {
    const reader = await server.raw()
    const listing = `PROPFIND /users/ann/listed/ HTTP/1.1\r\n${proof}Depth: 1\r\n\r\n`
    reader.write(`GET /users/ann/download HTTP/1.1\r\n${proof}\r\n${i % 2 === 0 ? listing : ""}`)
    await reader.until("HTTP/1.1 200")
    reader.socket.resetAndDestroy()
  }
  assert.equal((await server.ask("GET", "/users/ann/download")).body.length, 20_000_000)
  await eventually("no file is held any more", () => heldFiles() === 0)
})

/** Descriptors of this process that lead to people's files. */
function heldFiles(): number {
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ""
    }
  })
  return links.filter((link) => link.startsWith(server.at())).length
}

test("only one of two uploads that both require a new file succeeds", async () => {
  const put = async () =>
    (await server.ask("PUT", "/users/ann/once", { headers: { "if-none-match": "*" }, body: Buffer.alloc(100_000) })).status
  const statuses = await Promise.all(Array.from({ length: 10 }, put))
  assert.deepEqual(statuses.toSorted(), [201, ...Array(9).fill(412)])
})

test("an upload notices a concurrent change before it replaces the file", async () => {
  const { headers } = await server.ask("PUT", "/users/ann/h", { body: "1" })
  const upload = await server.raw()
  upload.write(head("/users/ann/h", `Content-Length: 100000\r\nIf-Match: ${headers.etag}\r\n`))
  await eventually("the upload began", () => server.unfinished().length === 1)
  writeFileSync(server.at("h"), "somebody else")
  upload.write(Buffer.alloc(100_000))
  assert.match(await upload.until("\r\n\r\n"), /^HTTP\/1.1 412 /)
  assert.equal(readFileSync(server.at("h"), "utf8"), "somebody else")
  upload.socket.destroy()
})

test("a revoked right ends an upload", async () => {
  const upload = await server.raw()
  upload.write(head("/users/ann/late", "Content-Length: 100000\r\n"))
  await eventually("the upload began", () => server.unfinished().length === 1)
  const ann = server.authority.people.get("ann")
  ann?.rights.set("/users/ann", "read")
  server.files.invalidate()
  upload.write(Buffer.alloc(100_000))
  assert.match(await upload.until("\r\n\r\n"), /^HTTP\/1.1 403 /)
  ann?.rights.set("/users/ann", "write")
  server.files.invalidate()
  assert.equal(existsSync(server.at("late")), false)
  upload.socket.destroy()
})

test("an upload into a directory that is deleted meanwhile returns 409", async () => {
  await server.ask("MKCOL", "/users/ann/dir")
  const upload = await server.raw()
  upload.write(head("/users/ann/dir/f", "Content-Length: 100000\r\n"))
  await eventually("the upload began", () => server.unfinished().length === 1)
  assert.equal((await server.ask("DELETE", "/users/ann/dir")).status, 204)
  upload.write(Buffer.alloc(100_000))
  assert.match(await upload.until("\r\n\r\n"), /^HTTP\/1.1 409 /)
  upload.socket.destroy()
})

test("concurrent uploads each arrive whole", async () => {
  const bodies = Array.from({ length: 20 }, (_, i) => Buffer.alloc(300_000 + i * 1_000, String(i)))
  const answers = await Promise.all(bodies.map((body, i) => server.ask("PUT", `/users/ann/p${i}`, { body })))
  assert.ok(answers.every(({ status }) => status === 201))
  for (const [i, body] of bodies.entries()) assert.ok(readFileSync(server.at(`p${i}`)).equals(body))
})

test("a program cannot keep uploads out of a directory by names that they might use", async () => {
  server.makeDirectory("users/ann/guessed")
  const [worker = ""] = readdirSync(`${server.root}/.quayside/work`)
  for (let n = 0; n < 2_000; n += 1) writeFileSync(server.at("guessed", `.quayside-upload-${worker}-${n.toString(36)}`), "")
  for (const length of [1, 200_000]) {
    const answer = await server.ask("PUT", `/users/ann/guessed/${length}`, { body: Buffer.alloc(length) })
    assert.equal(answer.status, 201, answer.text)
  }
})
