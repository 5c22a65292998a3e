import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { DirectoryHandle } from "../tree/directory-handle.ts"

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
  const opened = t.mock.method(DirectoryHandle.prototype, "openDirectory").mock
  const query = new URLSearchParams([["archive", "zip"], ...names.map((name) => ["name", name])])
  const { status, body } = await server.ask("GET", `/users/ann/${deep}?${query}`)
  assert.equal(status, 200)
  assert.equal(body.toString("latin1").split("PK\x01\x02").length - 1, names.length)
  assert.ok(opened.callCount() < 1_000, `${opened.callCount()} directories`)
})
