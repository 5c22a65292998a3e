import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { TestFilesServer, workerPid } from "../../../test/fixtures/files/files-server.ts"

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
  const lost = patch(5 * mib, 8 * mib).catch(() => undefined)
  const pid = workerPid()
  assert.ok(pid)
  process.kill(pid, "SIGKILL")
  if ((await lost)?.status === 204) return
  let offset = 0
  await eventually("the next worker knows the upload", async () => {
    const head = await server.ask("HEAD", address, { headers: version }).catch(() => undefined)
    offset = Number(head?.headers["upload-offset"])
    return head?.status === 200
  })
  assert.ok(offset >= 5 * mib, String(offset))
  const other = await server.ask("PUT", "/users/ann/other", { body: Buffer.alloc(3 * mib) })
  assert.deepEqual([other.status, JSON.parse(other.text).code], [507, "storage_full"])
  assert.equal((await patch(offset, content.length)).status, 204)
  assert.ok(readFileSync(server.at("large")).equals(content))
  assert.equal((await server.ask("PUT", "/users/ann/other", { body: Buffer.alloc(mib) })).status, 201)
})
