import assert from "node:assert/strict"
import { closeSync, constants, mkdirSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { ArchiveStream } from "./archive-stream.ts"

let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start()
})
after(() => server[Symbol.asyncDispose]())

test("an archive of many entries of a deep directory opens each directory above it a few times", async (t) => {
  const deep = "d/".repeat(100)
  mkdirSync(server.at(deep), { recursive: true })
  const names = Array.from({ length: 300 }, (_, n) => String(n))
  for (const name of names) writeFileSync(join(server.at(deep), name), "")
  const opened = t.mock.method(TreeDirectory.prototype, "openDescendant").mock
  const query = new URLSearchParams([["archive", "zip"], ...names.map((name) => ["name", name])])
  const { status, body } = await server.ask("GET", `/users/ann/${deep}?${query}`)
  assert.equal(status, 200)
  assert.equal(body.toString("latin1").split("PK\x01\x02").length - 1, names.length)
  assert.ok(opened.callCount() < 10, `its path was opened ${opened.callCount()} times`)
})

/** Makes a directory whose files have paths of so many names of 250 bytes. */
function makeLongPaths(path: string, { names, files }: { names: number; files: number }): void {
  mkdirSync(path)
  let here = DirectoryHandle.open(path)
  for (let i = 0; i < names; i += 1) {
    using above = here
    above.makeDirectory("n".repeat(250))
    here = above.openDirectory("n".repeat(250))
  }
  using deepest = here
  for (let i = 0; i < files; i += 1) closeSync(deepest.open(String(i), constants.O_WRONLY | constants.O_CREAT, 0o644))
}

test("entries that are moved into a directory while its archive is sent end it beyond the bound of its names", async (t) => {
  mkdirSync(server.at("swapped/first"), { recursive: true })
  mkdirSync(server.at("swapped/second"))
  makeLongPaths(server.at("long"), { names: 80, files: 1_800 })
  const { addWhole } = ArchiveStream.prototype
  let isMoved = false
  t.mock.method(ArchiveStream.prototype, "addWhole", function (this: ArchiveStream, ...args: Parameters<typeof addWhole>) {
    if (!isMoved) renameSync(server.at("long"), server.at("swapped/second/long"))
    isMoved = true
    return addWhole.apply(this, args)
  })
  await assert.rejects(server.ask("GET", "/users/ann/swapped?archive=zip&name=first&name=second"))
  assert.equal(isMoved, true)
})
