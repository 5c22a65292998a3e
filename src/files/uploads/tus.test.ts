import assert from "node:assert/strict"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { bounds } from "#contract"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { basic, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { StagingArea } from "../staging/staging-area.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { OpenUpload } from "./open-upload.ts"
import { UploadStore } from "./upload-store.ts"

let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start({ limits: { stallMs: 3_600_000 } })
})
after(() => server[Symbol.asyncDispose]())

const version = { "tus-resumable": "1.0.0" }
type Headers = Record<string, string>

const create = (path: string, length: number, { user = "ann", ...headers }: Headers & { user?: string } = {}) =>
  server.ask("POST", path, { user, headers: { ...version, "upload-length": String(length), ...headers } })
const patch = (address: string, offset: number, body: string | Buffer, { user = "ann", ...headers }: Headers & { user?: string } = {}) =>
  server.ask("PATCH", address, {
    user,
    body,
    headers: { ...version, "content-type": "application/offset+octet-stream", "upload-offset": String(offset), ...headers },
  })
const offsetOf = async (address: string) => (await server.ask("HEAD", address, { headers: version })).headers["upload-offset"]

async function begin(path: string, length: number, headers: Headers = {}): Promise<string> {
  const answer = await create(path, length, headers)
  assert.equal(answer.status, 201, answer.text)
  return String(answer.headers.location)
}

/** The names of all that is stored of unfinished uploads. */
function stored(): string[] {
  const uploads = join(server.root, ".quayside/uploads")
  return readdirSync(uploads).flatMap((person) => readdirSync(join(uploads, person)))
}

test("an upload comes in pieces, and the file appears with the last one", async () => {
  const address = await begin("/users/ann/pi%20eces", 11, { "upload-metadata": "filename cGllY2Vz" })
  assert.match(address, /^\/users\/ann\/pi%20eces\?upload=[0-9a-f]{32}$/)
  const first = await patch(address, 0, "hello ")
  assert.deepEqual([first.status, first.headers["upload-offset"]], [204, "6"])
  const head = await server.ask("HEAD", address, { headers: version })
  const { "upload-offset": offset, "upload-length": length, "upload-metadata": metadata, "cache-control": cache } = head.headers
  assert.deepEqual([offset, length, metadata, cache], ["6", "11", "filename cGllY2Vz", "no-store"])
  assert.ok(Date.parse(String(head.headers["upload-expires"])) > Date.now())
  assert.equal(existsSync(server.at("pi eces")), false)
  const last = await patch(address, 6, "world", { "x-oc-mtime": "1700000000" })
  assert.deepEqual([last.status, last.headers["upload-offset"], last.headers["tus-resumable"]], [204, "11", "1.0.0"])
  const read = await server.ask("GET", "/users/ann/pi%20eces")
  assert.deepEqual([read.text, read.headers.etag], ["hello world", last.headers.etag])
  assert.equal(read.headers["last-modified"], new Date(1_700_000_000_000).toUTCString())
  assert.equal((await server.ask("HEAD", address, { headers: version })).status, 404)
  assert.deepEqual(stored(), [])
})

test("the files of an upload are made and removed in turns of its person, not in the event loop", async (t) => {
  const { inTurn } = TreeDirectory.prototype
  const { create: createFiles } = UploadStore.prototype
  const { place } = StagingArea.prototype
  let [turns, reached] = [Promise.resolve(), Promise.withResolvers<void>()]
  /** Lets no turn begin until the result is called. */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    turns = promise
    reached.resolve()
    return resolve
  }
  let release = () => {}
  t.mock.method(TreeDirectory.prototype, "inTurn", async function (this: TreeDirectory, work: () => Promise<unknown>) {
    await turns
    return inTurn.call(this, work)
  })
  t.mock.method(UploadStore.prototype, "create", function (this: UploadStore, ...given: Parameters<typeof createFiles>) {
    release = hold()
    return createFiles.apply(this, given)
  })
  t.mock.method(StagingArea.prototype, "place", async function (this: StagingArea, ...given: Parameters<typeof place>) {
    await place.apply(this, given)
    release = hold()
  })
  const storedMeanwhile = async () => {
    await reached.promise
    await sleep(20)
    const names = stored()
    reached = Promise.withResolvers()
    release()
    return names
  }
  const begun = create("/users/ann/turns", 4)
  assert.deepEqual(await storedMeanwhile(), [])
  const ended = patch(String((await begun).headers.location), 0, "abcd")
  assert.match(String(await storedMeanwhile()), /^[0-9a-f]{32}\.json$/)
  assert.equal((await ended).status, 204)
  assert.deepEqual(stored(), [])
})

test("the bytes of a request are flushed once, before the file gets its name", async (t) => {
  const called: string[] = []
  const { flush, moveTo } = OpenUpload.prototype
  t.mock.method(OpenUpload.prototype, "flush", async function (this: OpenUpload, userId: number) {
    await flush.call(this, userId)
    called.push("flushed")
  })
  t.mock.method(OpenUpload.prototype, "moveTo", function (this: OpenUpload, ...to: Parameters<typeof moveTo>) {
    called.push("named")
    return moveTo.apply(this, to)
  })
  const address = await begin("/users/ann/flushed", 4)
  assert.equal((await patch(address, 0, "ab")).status, 204)
  assert.deepEqual(called.splice(0), ["flushed"])
  assert.equal((await patch(address, 2, "cd")).status, 204)
  assert.deepEqual(called.splice(0), ["flushed", "named"])
  assert.equal((await create("/users/ann/flushed-empty", 0)).status, 204)
  assert.deepEqual(called, ["flushed", "named"])
})

test("an empty file is complete at once", async () => {
  assert.equal((await create("/users/ann/empty", 0)).status, 204)
  assert.equal(readFileSync(server.at("empty"), "utf8"), "")
})

test("a lost connection loses nothing that came", async () => {
  const content = Buffer.alloc(3_000_000, "0123456789")
  const address = await begin("/users/ann/lost", content.length)
  const lost = await server.raw()
  lost.write(
    `PATCH ${address} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: 3000000\r\n\r\n`,
  )
  lost.write(content.subarray(0, 2_000_000))
  const [id = ""] = stored().filter((name) => !name.endsWith(".json"))
  const own = join(server.root, ".quayside/uploads", readdirSync(join(server.root, ".quayside/uploads"))[0] ?? "", id)
  await eventually("most came", () => readFileSync(own).length >= 1_900_000)
  // The connection is still open for the server: the next request takes the upload over.
  const asked = offsetOf(address)
  await eventually("the server closed the connection", () => lost.socket.destroyed)
  const offset = Number(await asked)
  assert.ok(offset >= 1_900_000 && offset <= 2_000_000, String(offset))
  assert.equal((await patch(address, offset, content.subarray(offset))).status, 204)
  assert.ok(readFileSync(server.at("lost")).equals(content))
})

test("a piece that does not follow is refused, and so are more bytes than announced", async () => {
  const address = await begin("/users/ann/order", 10)
  assert.equal((await patch(address, 0, "01234")).status, 204)
  for (const offset of [0, 4, 6, 10]) {
    const answer = await patch(address, offset, "x")
    assert.deepEqual([answer.status, answer.headers["upload-offset"]], [409, "5"])
  }
  assert.equal((await patch(address, 5, "567890")).status, 413)
  const chunked = await patch(address, 5, "567890", { "transfer-encoding": "chunked" })
  assert.equal(chunked.status, 413)
  assert.equal(existsSync(server.at("order")), false)
  for (const offset of ["", "-1", "1e3", "x"]) {
    const headers = { ...version, "content-type": "application/offset+octet-stream", "upload-offset": offset }
    assert.equal((await server.ask("PATCH", address, { body: "x", headers })).status, 400, offset)
  }
  assert.equal((await patch(address, 5, "x", { "content-type": "text/plain" })).status, 415)
  const other = await server.ask("HEAD", address, { headers: { "tus-resumable": "0.2.2" } })
  assert.deepEqual([other.status, other.headers["tus-version"]], [412, "1.0.0"])
  for (const length of ["", "-1", "99999999999999999"])
    assert.equal((await server.ask("POST", "/users/ann/new", { headers: { ...version, "upload-length": length } })).status, 400, length)
  assert.equal((await create("/users/ann/new", 5, { "upload-metadata": "x".repeat(5_000) })).status, 400)
  assert.equal((await server.ask("DELETE", address, { headers: version })).status, 204)
  assert.equal((await patch(address, 5, "56789")).status, 404)
  assert.deepEqual(stored(), [])
})

test("a name that exists is refused before and after the bytes, and nothing is lost", async () => {
  writeFileSync(server.at("taken"), "mine")
  assert.equal((await create("/users/ann/taken", 5, { "if-none-match": "*" })).status, 412)
  const address = await begin("/users/ann/free", 5, { "if-none-match": "*" })
  assert.equal((await patch(address, 0, "hell", { "if-none-match": "*" })).status, 204)
  const lost = await server.raw()
  lost.write(
    `PATCH ${address} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 4\r\nIf-None-Match: *\r\nContent-Type: application/offset+octet-stream\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n`,
  )
  await lost.until("100 Continue")
  writeFileSync(server.at("free"), "somebody's")
  lost.write("o")
  assert.match(await lost.until("412"), /412 Precondition/)
  lost.socket.destroy()
  assert.equal(readFileSync(server.at("free"), "utf8"), "somebody's")
  assert.equal(await offsetOf(address), "5")
  assert.equal((await patch(address, 5, "")).status, 204)
  assert.equal(readFileSync(server.at("free"), "utf8"), "hello")
})

test("rights are judged with each request and for the file's place", async () => {
  const address = await begin("/users/ann/mine", 5)
  server.authority.add("carl", { "/users/ann": "write" })
  for (const user of ["bob", "carl"]) {
    assert.equal((await patch(address, 0, "x", { user })).status, 404, user)
    assert.equal((await server.ask("HEAD", address, { user, headers: version })).status, 404, user)
    assert.equal((await server.ask("DELETE", address, { user, headers: version })).status, 404, user)
  }
  assert.equal((await create("/users/bob/x", 5)).status, 404)
  assert.equal((await create("/users/ann", 5)).status, 403)
  assert.equal((await create("/users/ann/none/x", 5)).status, 409)
  assert.equal((await create("/users/ann/slash/", 5)).status, 405)
  assert.equal((await patch(address.replace("mine", "other"), 0, "hello")).status, 404)
  mkdirSync(server.at("mine"))
  assert.equal((await patch(address, 0, "hello")).status, 405)
  assert.equal((await server.ask("DELETE", address, { headers: version })).status, 204)
})

/** For a server that takes over the unfinished uploads. */
function copyUploads(root: string): () => void {
  mkdirSync(join(root, ".quayside"), { mode: 0o700 })
  cpSync(join(server.root, ".quayside/uploads"), join(root, ".quayside/uploads"), { recursive: true, preserveTimestamps: true })
  return () => {}
}

test("an upload ends with the right to write at its place, and frees the owner's space", async () => {
  server.authority.add("dora", { "/users/ann": "write" })
  const { id = 0 } = server.authority.people.get("dora") ?? {}
  await begin("/users/ann/of-a-guest", 5, { user: "dora" })
  const kept = await begin("/users/ann/own", 5)
  await using next = await TestFilesServer.start({ prepare: copyUploads })
  await eventually("the guest's is gone", () => readdirSync(join(next.root, ".quayside/uploads", String(id))).length === 0)
  assert.equal((await next.ask("HEAD", kept, { headers: version })).status, 200)
  await server.ask("DELETE", kept, { headers: version })
})

test("an upload that stands still reserves only what came of it, and goes on once there is room", async () => {
  const mib = 2 ** 20
  await using other = await TestFilesServer.start({ storage: { recountAfterMs: 3_600_000 } })
  other.authority.quotas.set("ann", { maxBytes: 10 * mib })
  const headers = { ...version, "upload-length": String(8 * mib) }
  const address = String((await other.ask("POST", "/users/ann/large", { headers })).headers.location)
  const append = (offset: number, bytes: number) => {
    const more = { "content-type": "application/offset+octet-stream", "upload-offset": String(offset) }
    return other.ask("PATCH", address, { headers: { ...version, ...more }, body: Buffer.alloc(bytes) })
  }
  assert.equal((await append(0, mib)).status, 204)
  const put = () => other.ask("PUT", "/users/ann/file", { body: Buffer.alloc(3 * mib) })
  assert.equal((await put()).status, 507)

  const uploads = join(other.root, ".quayside/uploads")
  const [person = ""] = readdirSync(uploads)
  const before = new Date(Date.now() - bounds.files.uploadReservedMs.value)
  utimesSync(join(uploads, person, address.split("=")[1] ?? ""), before, before)
  await eventually("others have the space", async () => (await put()).status === 201, 40_000)
  const refused = await append(mib, 7 * mib)
  assert.deepEqual([refused.status, JSON.parse(refused.text).code], [507, "storage_full"])
  assert.equal((await other.ask("DELETE", "/users/ann/file")).status, 204)
  assert.deepEqual([(await append(mib, 7 * mib)).status, (await put()).status], [204, 507])
})

test("a time of modification in the future keeps no upload for ever", async () => {
  const address = await begin("/users/ann/late", 5)
  await patch(address, 0, "hell")
  const connection = await server.raw()
  const head = `PATCH ${address} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${basic("ann")}\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 4\r\n`
  const more = "Content-Type: application/offset+octet-stream\r\nIf-None-Match: *\r\nX-OC-Mtime: 9999999999\r\n"
  connection.write(`${head}${more}Content-Length: 1\r\nExpect: 100-continue\r\n\r\n`)
  await connection.until(" 100 ")
  writeFileSync(server.at("late"), "somebody's")
  connection.write("o")
  assert.match(await connection.until("\r\n\r\n{"), / 412 /)
  connection.socket.destroy()
  const { headers } = await server.ask("HEAD", address, { headers: version })
  assert.ok(Date.parse(String(headers["upload-expires"])) <= Date.now() + bounds.files.uploadIdleMs.value)
  await server.ask("DELETE", address, { headers: version })
})

test("the number of a person's uploads is bounded, and one that receives nothing expires", async () => {
  const { resumableUploads, uploadIdleMs } = bounds.files
  const addresses: string[] = []
  for (let i = 0; i < resumableUploads.value; i += 1) addresses.push(await begin(`/users/bob/u${i}`, 5, { user: "bob" }))
  assert.equal((await create("/users/bob/more", 5, { user: "bob" })).status, 429)
  assert.equal((await server.ask("PUT", "/users/bob/more", { user: "bob", body: "x" })).status, 201)
  const [first = ""] = addresses
  const uploads = join(server.root, ".quayside/uploads")
  const person = readdirSync(uploads).find((id) => readdirSync(join(uploads, id)).length > 0) ?? ""
  const old = new Date(Date.now() - uploadIdleMs.value - 1_000)
  utimesSync(join(uploads, person, first.split("=")[1] ?? ""), old, old)
  await using next = await TestFilesServer.start({ prepare: copyUploads })
  await eventually(
    "the old one is gone",
    () => readdirSync(join(next.root, ".quayside/uploads", person)).length === 2 * (addresses.length - 1),
  )
  for (const address of addresses) await server.ask("DELETE", address, { user: "bob", headers: version })
})
