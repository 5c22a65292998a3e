import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { chownSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { asRoot, basic, owner, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { type SmallDisk, smallDisk } from "../../../test/fixtures/files/small-disk.ts"
import { defaultStorageSettings } from "../settings.ts"
import { diskSpaceOf } from "./disk-space.ts"

const kib = 1_024
const mib = 2 ** 20
const settings = defaultStorageSettings(undefined)

test("the reserve is a sixteenth of a small disk, 1 GiB of others, 2 % of large ones", () => {
  const reserveOf = (totalBytes: number, free = totalBytes, reserveBytes?: number) => {
    const stats = { type: 0, bsize: 4_096, blocks: totalBytes / 4_096, bfree: 0, bavail: free / 4_096, files: 10 ** 9, ffree: 10 ** 6 }
    const { reserveBytes: reserve, isLow } = diskSpaceOf(stats as never, { ...settings, reserveBytes })
    return [reserve / mib, isLow]
  }
  assert.deepEqual(reserveOf(2 ** 30), [64, false])
  assert.deepEqual(reserveOf(2 ** 35), [1_024, false])
  assert.deepEqual(reserveOf(2 ** 40), [Math.floor(2 ** 40 / 50) / mib, false])
  assert.deepEqual(reserveOf(2 ** 50), [65_536, false])
  assert.deepEqual(reserveOf(2 ** 35, 2 ** 29), [1_024, true])
  assert.deepEqual(reserveOf(2 ** 35, 2 ** 29, 2 ** 20), [1, false])
})

/** A server whose files are on this disk. */
function serveFrom(disk: SmallDisk): Promise<TestFilesServer> {
  return TestFilesServer.start({
    prepare(root) {
      execFileSync("mount", ["--bind", disk.path, root])
      const home = join(root, "users/ann")
      mkdirSync(home, { recursive: true })
      for (const path of [root, join(root, "users"), home]) chownSync(path, owner.uid, owner.gid)
      return () => execFileSync("umount", ["-l", root])
    },
  })
}

const needsMounts = { skip: !asRoot && "needs the right to mount" }

test("uploads end before the disk is full, and deletions work", needsMounts, async () => {
  await using disk = await smallDisk(64 * kib, "ext4")
  await using other = await serveFrom(disk)
  assert.equal((await other.ask("PUT", "/users/ann/file", { body: Buffer.alloc(mib) })).status, 201)
  disk.fillUp(3 * kib)
  const refused = await other.ask("PUT", "/users/ann/small", { body: "x" })
  const { code, msg } = JSON.parse(refused.text)
  assert.deepEqual([refused.status, code], [507, "storage_full"])
  assert.match(msg, /^The disk is nearly full: \d/)
  assert.equal((await other.ask("DELETE", "/users/ann/file")).status, 204)
  await disk.makeRoom()
  assert.equal((await other.ask("PUT", "/users/ann/small", { body: "x" })).status, 201)
})

test("an upload that fits when it begins ends if others fill the disk meanwhile", needsMounts, async () => {
  await using disk = await smallDisk(128 * kib, "ext4")
  await using other = await serveFrom(disk)
  const body = Buffer.alloc(33 * mib, 1)
  const tus = { "tus-resumable": "1.0.0" }
  const resumable = await other.ask("POST", "/users/ann/b", { headers: { ...tus, "upload-length": String(body.length) } })
  const patch = `PATCH ${resumable.headers.location} HTTP/1.1\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\n`
  for (const head of ["PUT /users/ann/a HTTP/1.1\r\n", patch]) {
    const connection = await other.raw()
    connection.write(
      `${head}Host: localhost\r\nAuthorization: ${basic("ann")}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
    )
    await connection.until("100 Continue")
    disk.fillUp(34 * kib)
    connection.write(body)
    assert.match(await connection.end(), /HTTP\/1.1 507 .*"The disk is nearly full: \d/s, head)
    await disk.makeRoom()
  }
})
