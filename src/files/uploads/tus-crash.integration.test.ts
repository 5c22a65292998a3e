import assert from "node:assert/strict"
import { existsSync, linkSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { basic, TestFilesServer, workerPid } from "../../../test/fixtures/files/files-server.ts"

const version = { "tus-resumable": "1.0.0" }
const mib = 2 ** 20

test("an upload goes on after the worker was killed, and still counts for the person", async () => {
  await using server = await TestFilesServer.start({ runIn: "worker" })
  server.authority.quotas.set("ann", { maxBytes: 10 * mib })
  const content = Buffer.alloc(8 * mib, "0123456789")
  const create = await server.ask("POST", "/users/ann/large", { headers: { ...version, "upload-length": String(content.length) } })
  assert.equal(create.status, 201, create.text)
  const address = String(create.headers.location)
  const patch = (offset: number, end: number) =>
    server.ask("PATCH", address, {
      body: content.subarray(offset, end),
      headers: { ...version, "content-type": "application/offset+octet-stream", "upload-offset": String(offset) },
    })
  assert.equal((await patch(0, 5 * mib)).status, 204)
  const lost = await server.raw()
  lost.write(
    `PATCH ${address} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: ${5 * mib}\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: ${3 * mib}\r\n\r\n`,
  )
  lost.write(content.subarray(5 * mib, 6 * mib))
  await eventually("a part of the piece came", () => storedBytes(server) > 5 * mib)
  const pid = workerPid()
  assert.ok(pid)
  process.kill(pid, "SIGKILL")
  await lost.end()
  let offset = 0
  await eventually("the next worker knows the upload", async () => {
    const head = await server.ask("HEAD", address, { headers: version }).catch(() => undefined)
    offset = Number(head?.headers["upload-offset"])
    return head?.status === 200
  })
  assert.ok(offset > 5 * mib && offset <= 6 * mib, String(offset))
  assert.equal(existsSync(server.at("large")), false, "nothing half-written has the file's name")
  const other = await server.ask("PUT", "/users/ann/other", { body: Buffer.alloc(3 * mib) })
  assert.deepEqual([other.status, JSON.parse(other.text).code], [507, "storage_full"])
  assert.equal((await patch(offset, content.length)).status, 204)
  assert.ok(readFileSync(server.at("large")).equals(content))
  assert.equal((await server.ask("PUT", "/users/ann/other", { body: Buffer.alloc(mib) })).status, 201)
})

test("a whole upload is not lost when the worker dies after it got a second name beside its place", async () => {
  await using server = await TestFilesServer.start({ runIn: "worker" })
  // The directory is marked for the sweep from now on.
  assert.equal((await server.ask("PUT", "/users/ann/file", { body: Buffer.alloc(100_000) })).status, 201)
  const content = Buffer.alloc(100_000, "0123456789")
  const create = await server.ask("POST", "/users/ann/file", { headers: { ...version, "upload-length": String(content.length) } })
  const commit = () =>
    server.ask("PATCH", String(create.headers.location), {
      headers: { ...version, "content-type": "application/offset+octet-stream", "upload-offset": String(content.length) },
    })
  writeFileSync(storedUpload(server), content)
  const pid = workerPid()
  assert.ok(pid)
  const [worker = ""] = readdirSync(join(server.root, ".quayside/work"))
  linkSync(storedUpload(server), server.at(`.quayside-upload-${worker}-last`))
  process.kill(pid, "SIGKILL")
  let status: number | undefined
  await eventually("the upload is in its place", async () => {
    status = (await commit().catch(() => undefined))?.status
    return status === 204 || status === 404
  })
  assert.equal(status, 204)
  assert.ok(readFileSync(server.at("file")).equals(content))
  assert.deepEqual(readdirSync(server.at()), ["file"])
})

/** The one upload that began. */
function storedUpload({ root }: TestFilesServer): string {
  const uploads = join(root, ".quayside/uploads")
  const [person = ""] = readdirSync(uploads)
  const [id = ""] = readdirSync(join(uploads, person)).filter((name) => !name.endsWith(".json"))
  return join(uploads, person, id)
}

/** The bytes of it that came. */
const storedBytes = (server: TestFilesServer): number => statSync(storedUpload(server)).size
