import assert from "node:assert/strict"
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { StagedEntry } from "../staging/staged-entry.ts"
import type { StorageAccount } from "./storage.ts"
import { trashOf } from "./trash-parts.ts"

const mib = 2 ** 20
const account: StorageAccount = { name: "ann", userId: 1, roots: ["/users/ann"], excluded: [], subAreas: ["/users/ann/data"] }

for (const method of ["DELETE", "COPY"]) {
  test(`a directory that programs keep after ${method} counts as where it was until it is gone`, async (t) => {
    await using server = await TestFilesServer.start()
    for (const path of ["kept/below", "projects/7/kept", "data/kept", "other"]) mkdirSync(join(server.at(), path), { recursive: true })
    const open = openSync(join(server.at(), "data/kept"), "r")
    const resisting = t.mock.method(StagedEntry.prototype, "removeContent", async () => false)
    for (const path of ["kept", "projects/7/kept", "data/kept"]) {
      const headers = method === "COPY" ? { Destination: `/users/ann/${path}` } : {}
      const { status, text } = await server.ask(method, `/users/ann/${method === "COPY" ? "other" : path}`, { headers })
      assert.equal(status, 204, text)
    }
    for (const name of ["one", "two"]) writeFileSync(`/proc/self/fd/${open}/${name}`, Buffer.alloc(mib, 1))
    closeSync(open)
    const areas = async () => {
      const count = await server.files.countStorage(account, null)
      return Object.entries(count.areas).map(([area, bytes]) => [area, Math.floor(bytes / mib)])
    }
    assert.deepEqual((await areas()).sort(), [
      ["/users/ann", 0],
      ["/users/ann/data", 2],
      ["/users/ann/projects/7", 0],
    ])
    resisting.mock.restore()
    const ofData = async () => (await areas()).find(([area]) => area === "/users/ann/data")?.[1]
    await eventually("it is gone", async () => (await ofData()) === 0)
  })
}

test("a directory in the trash counts for the account of its place", () => {
  const folder = "/.quayside/work/1/of-x"
  const parts = (origin: string, more: Partial<StorageAccount> = {}) =>
    trashOf({ ...account, ...more }, [{ folder, name: "a", origin }]).map(({ root, names, area }) => [root, names.join("/"), area])
  assert.deepEqual(parts("/users/ann/x/y"), [["/users/ann", "x/y", "/users/ann"]])
  assert.deepEqual(parts("/users/ann/data/x"), [["/users/ann", "data/x", "/users/ann/data"]])
  for (const origin of ["/users/bob/x", "/users/anna", "", "/"]) assert.deepEqual(parts(origin), [])
  const nested = { excluded: ["/users/ann/theirs"], roots: ["/users/ann", "/users/ann/theirs/own"] }
  assert.deepEqual(parts("/users/ann/theirs/x", nested), [])
  assert.deepEqual(parts("/users/ann/theirs/own/x", nested), [["/users/ann/theirs/own", "x", "/users/ann/theirs/own"]])
  assert.deepEqual(trashOf(account, [{ folder: "/users/ann", name: ".quayside-upload-a", origin: "/users/ann/x" }]), [])
})
