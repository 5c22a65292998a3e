import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import promises from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { DirectoryHandle } from "./directory-handle.ts"
import { removeTree } from "./remove-tree.ts"

/*
 * Removals use the thread pool, which has few threads and in which everybody's uploads wait. A
 * person may delete a hundred directories at once.
 */

test("a hundred removals at once have few files waiting for the thread pool", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "quayside-removals-"))
  const { unlink } = promises
  t.after(() => {
    syncBuiltinESMExports()
    rmSync(directory, { recursive: true })
  })
  const names = Array.from({ length: 100 }, (_, i) => `d${i}`)
  for (const name of names) {
    mkdirSync(join(directory, name))
    for (let i = 0; i < 40; i += 1) writeFileSync(join(directory, name, String(i)), "")
  }
  let [waiting, most] = [0, 0]
  t.mock.method(promises, "unlink", async (path: string) => {
    waiting += 1
    most = Math.max(most, waiting)
    await unlink(path).finally(() => {
      waiting -= 1
    })
  })
  syncBuiltinESMExports()
  using location = DirectoryHandle.open(directory)
  await Promise.all(names.map((name) => removeTree(location, name, () => `${name}-more`)))
  assert.ok(most > 1 && most <= 32, `${most} files`)
  assert.deepEqual(readdirSync(directory), [])
})
