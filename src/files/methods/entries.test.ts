import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { asRoot, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start()
})
after(() => server[Symbol.asyncDispose]())

const propfind = (path: string, depth = "1", user = "ann") => server.ask("PROPFIND", path, { headers: { depth }, user })
const hrefs = (xml: string) => [...xml.matchAll(/<D:href>([^<]*)</g)].map(([, href]) => href)
const methods = ["OPTIONS", "GET", "HEAD", "PUT", "DELETE", "MKCOL", "PROPFIND", "PROPPATCH", "COPY", "MOVE", "LOCK", "UNLOCK"]

const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'

test("links, FIFOs and sockets return 404", async () => {
  mkdirSync(server.at("odd"))
  server.makeDirectory("users/ann/odd")
  mkdirSync(join(server.folder, "outside/below"))
  for (const name of ["secret", "below/secret"]) writeFileSync(join(server.folder, "outside", name), "secret")
  symlinkSync(join(server.folder, "outside/secret"), server.at("odd/link"))
  symlinkSync(join(server.folder, "outside"), server.at("odd/folder"))
  // The kernel follows a link from its cache once it was followed in a later tick of the clock.
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.ok(statSync(server.at("odd/folder/below/secret")))
  symlinkSync("nowhere", server.at("odd/dangling"))
  execFileSync("mkfifo", [server.at("odd/fifo")])
  const socket = createServer().listen(server.at("odd/socket"))
  await new Promise((resolve) => socket.once("listening", resolve))
  for (const name of ["link", "folder", "folder/secret", "folder/below/secret", "dangling", "fifo", "socket"]) {
    for (const method of ["GET", "HEAD", "PROPFIND", "DELETE", "PROPPATCH", "COPY", "MOVE"]) {
      const body = method === "PROPPATCH" ? '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="y"/></prop></set></propertyupdate>' : ""
      const answer = await server.ask(method, `/users/ann/odd/${name}`, { body, headers: { destination: "/users/ann/odd/copy" } })
      assert.equal(answer.status, 404, `${method} ${name}`)
    }
    for (const method of ["PUT", "MKCOL", "LOCK"]) {
      const answer = await server.ask(method, `/users/ann/odd/${name}`, { body: method === "LOCK" ? lockBody : "" })
      assert.equal(answer.status, 409, `${method} ${name}`)
    }
  }
  assert.deepEqual(hrefs((await propfind("/users/ann/odd", "infinity")).text), ["/users/ann/odd/"])
  assert.equal((await server.ask("COPY", "/users/ann/odd", { headers: { destination: "/users/ann/odd2" } })).status, 201)
  assert.deepEqual(readdirSync(server.at("odd2")), [])
  assert.equal((await server.ask("DELETE", "/users/ann/odd")).status, 204)
  assert.equal(readFileSync(join(server.folder, "outside/secret"), "utf8"), "secret")
  socket.close()
})

test("a PUT replaces one hard link and leaves the others", async () => {
  writeFileSync(join(server.folder, "outside/linked"), "old")
  linkSync(join(server.folder, "outside/linked"), server.at("hard"))
  assert.equal((await server.ask("PUT", "/users/ann/hard", { body: "new" })).status, 204)
  assert.equal(readFileSync(join(server.folder, "outside/linked"), "utf8"), "old")
})

test("a name may have 255 bytes of any UTF-8", async () => {
  const long = "ü".repeat(127)
  assert.equal((await server.ask("PUT", `/users/ann/${encodeURIComponent(`${long}x`)}`, { body: "x" })).status, 201)
  for (const method of ["PUT", "MKCOL", "LOCK"]) {
    const body = method === "LOCK" ? lockBody : ""
    assert.equal((await server.ask(method, `/users/ann/${encodeURIComponent(`${long}xx`)}`, { body })).status, 400, method)
  }
  assert.equal((await server.ask("GET", `/users/ann/${"x".repeat(300)}`)).status, 404)
  const odd = "a b&<>\"'\\\n\t🙂 %2F#?"
  assert.equal((await server.ask("PUT", `/users/ann/${encodeURIComponent(odd)}`, { body: "odd" })).status, 201)
  assert.equal(readFileSync(server.at(odd), "utf8"), "odd")
  const listed = (await propfind("/users/ann/")).text
  assert.ok(hrefs(listed).includes(`/users/ann/${encodeURIComponent(odd).replace("'", "%27")}`))
})

test("a trailing slash stands for a directory", async () => {
  await server.ask("PUT", "/users/ann/plain", { body: "x" })
  assert.equal((await server.ask("GET", "/users/ann/plain/")).status, 404)
  assert.equal((await propfind("/users/ann/plain/")).status, 404)
  assert.equal((await server.ask("DELETE", "/users/ann/plain/")).status, 404)
  assert.equal((await server.ask("PUT", "/users/ann/plain/", { body: "y" })).status, 405)
  assert.equal(readFileSync(server.at("plain"), "utf8"), "x")
})

test("a name that is not UTF-8 is not listed, but deleted and copied with its directory", async () => {
  server.makeDirectory("users/ann/bytes")
  writeFileSync(Buffer.concat([Buffer.from(`${server.at("bytes")}/`), Buffer.from([0xff, 0xfe])]), "x")
  assert.deepEqual(hrefs((await propfind("/users/ann/bytes")).text), ["/users/ann/bytes/"])
  assert.equal((await server.ask("COPY", "/users/ann/bytes", { headers: { destination: "/users/ann/bytes2" } })).status, 201)
  assert.equal(readdirSync(server.at("bytes2"), { encoding: "buffer" }).length, 1)
  assert.equal((await server.ask("DELETE", "/users/ann/bytes")).status, 204)
  assert.equal(existsSync(server.at("bytes")), false)
})

test("a file keeps its permission bits when its content is replaced", async () => {
  writeFileSync(server.at("run.sh"), "old", { mode: 0o755 })
  assert.equal((await server.ask("PUT", "/users/ann/run.sh", { body: "new" })).status, 204)
  assert.equal(statSync(server.at("run.sh")).mode & 0o7777, 0o755)
})

test("set-user-id bits are neither kept nor copied", async () => {
  execFileSync("install", ["-m", "6755", "/dev/null", server.at("suid")])
  await server.ask("COPY", "/users/ann/suid", { headers: { destination: "/users/ann/suid2" } })
  assert.equal(statSync(server.at("suid2")).mode & 0o7777, 0o755)
  await server.ask("PUT", "/users/ann/suid", { body: "x" })
  assert.equal(statSync(server.at("suid")).mode & 0o7777, 0o755)
})

test("a directory with mode 000 can be deleted", {
  skip: asRoot && "root passes every door: the worker's tests do it",
}, async () => {
  mkdirSync(server.at("closed/inner"), { recursive: true })
  execFileSync("find", [server.at("closed"), "-depth", "-exec", "chmod", "000", "{}", ";"])
  assert.equal((await server.ask("DELETE", "/users/ann/closed")).status, 204)
  assert.equal(existsSync(server.at("closed")), false)
})

test("the files root contains only people's entries and the reserved directory", async () => {
  const hidden = join(server.root, ".quayside/work")
  const [own = ""] = readdirSync(hidden)
  assert.deepEqual(server.unfinished(), [])
  assert.equal(statSync(join(hidden, own)).mode & 0o777, 0o700)
  assert.equal(statSync(join(server.root, ".quayside")).mode & 0o777, 0o700)
  for (const method of methods) assert.equal((await server.ask(method, "/.quayside/work", { body: "" })).status, 404, method)
})
