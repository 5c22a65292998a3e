import assert from "node:assert/strict"
import { chownSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { basic, owner, type RawConnection, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

/* Bob reads a listing of a directory that he may only pass through, with two datasets, slowly. */

/** In each dataset: so many that an answer does not fit into the buffers of a connection. */
const entries = 4_500
const datasets = ["first", "other"]

async function withSlowListing(
  act: (listing: { now: string; later: string; withdraw(name: string): void; connection: RawConnection }) => Promise<void>,
): Promise<void> {
  await using server = await TestFilesServer.start()
  server.authority.add("bob", Object.fromEntries(datasets.map((name) => [`/data/${name}`, "read" as const])))
  for (const name of datasets) {
    server.makeDirectory(`data/${name}`)
    for (let i = 0; i < entries; i += 1) {
      const file = join(server.root, "data", name, `${"n".repeat(200)}${i}`)
      writeFileSync(file, "")
      chownSync(file, owner.uid, owner.gid)
    }
  }
  const connection = await server.raw()
  connection.write(`PROPFIND / HTTP/1.1\r\nHost: localhost\r\nDepth: infinity\r\nAuthorization: ${basic("bob")}\r\n\r\n`)
  const begin = await connection.until("nnn")
  connection.socket.pause()
  const now = /data\/(\w+)\/n/.exec(begin)?.[1] ?? ""
  const withdraw = (name: string) => {
    server.authority.people.get("bob")?.rights.delete(`/data/${name}`)
    server.files.invalidate()
  }
  await act({ now, later: datasets.find((name) => name !== now) ?? "", withdraw, connection })
  connection.socket.destroy()
}

test("a listing ends when the right to the part that is being sent ends", async () => {
  await withSlowListing(async ({ now, withdraw, connection }) => {
    withdraw(now)
    await sleep(4_000)
    connection.socket.resume()
    assert.doesNotMatch(await connection.end(), /<\/D:multistatus>/)
  })
})

test("a listing leaves out what its reader may not see any more when it is its turn", async () => {
  await withSlowListing(async ({ later, withdraw, connection }) => {
    withdraw(later)
    await sleep(2_000)
    connection.socket.resume()
    const text = await connection.until("</D:multistatus>")
    assert.equal(text.includes(`/data/${later}/n`), false)
  })
})
