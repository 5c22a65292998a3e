import assert from "node:assert/strict"
import { once } from "node:events"
import { after, before, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

const mib = 2 ** 20
let server: TestFilesServer
before(async () => {
  // The last count decides.
  server = await TestFilesServer.start({ storage: { recountAfterMs: 3_600_000 } })
  server.authority.quotas.set("ann", { maxBytes: 100 * mib })
})
after(() => server[Symbol.asyncDispose]())

const request = (method: string, name: string, body?: Buffer | string) =>
  server.ask(method, `/users/ann/${name}`, { ...(body === undefined ? {} : { body }) })

/** Begins a download of Ann's file, and takes nothing of it. */
async function stalledDownload(name: string, reader = "ann") {
  const connection = await server.raw()
  const proof = Buffer.from(`${reader}:right`).toString("base64")
  connection.write(`GET /users/ann/${name} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic ${proof}\r\n\r\n`)
  connection.socket.pause()
  await pause(200)
  return connection.socket
}

for (const method of ["DELETE", "PUT"]) {
  test(`a file that ${method} takes away counts for its reader until the download ends`, async () => {
    assert.equal((await request("PUT", "file", Buffer.alloc(40 * mib))).status, 201)
    const download = await stalledDownload("file")
    assert.equal((await request(method, "file", method === "PUT" ? "" : undefined)).status, 204)
    await pause(2_000)
    const more = () => request("PUT", "more", Buffer.alloc(70 * mib))
    const { status, text } = await more()
    assert.equal(status, 507)
    assert.match(text, /ann may store 100 MiB and stores 40 MiB/)
    download.destroy()
    await eventually("its space is free", async () => (await more()).status === 201)
    assert.equal((await request("DELETE", "more")).status, 204)
  })
}

test("downloads of deleted files end when these do not fit into their reader's limit, and others go on", async () => {
  server.authority.add("bob", { "/users/ann": "read" })
  server.authority.quotas.set("bob", { maxBytes: 30 * mib })
  const body = Buffer.alloc(20 * mib)
  for (const file of ["kept", "one", "two"]) assert.equal((await request("PUT", file, body)).status, 201)
  const [kept, one] = [await stalledDownload("kept", "bob"), await stalledDownload("one", "bob")]
  assert.equal((await request("DELETE", "one")).status, 204)
  await pause(2_000)
  const two = await stalledDownload("two", "bob")
  assert.equal((await request("DELETE", "two")).status, 204)
  await pause(2_000)
  await Promise.all([one, two].map((socket) => once(socket.resume(), "close")))
  for (const { bytesRead } of [one, two]) assert.ok(bytesRead < body.length, `${bytesRead} bytes`)
  assert.ok(!kept.destroyed)
  kept.destroy()
})
