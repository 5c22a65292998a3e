import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import promises from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { setImmediate } from "node:timers/promises"
import { bounds } from "#contract"
import { DirectoryHandle } from "./directory-handle.ts"
import { removeTree } from "./remove-tree.ts"
import { TreeDirectory } from "./tree-directory.ts"

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
  using handle = DirectoryHandle.open(directory)
  const location = TreeDirectory.of(handle, 7)
  await Promise.all(names.map((name) => removeTree(location, name, () => `${name}-more`)))
  assert.ok(most > 1 && most <= bounds.files.diskThreadsOfPerson.value, `${most} files`)
  assert.deepEqual(readdirSync(directory), [])
})

const broken = () => Object.assign(new Error("a broken disk"), { code: "EIO" })

/** A directory with a directory `d` of thirty files, and as many directories that are not empty. */
function filledDirectory(t: TestContext, { directories = false } = {}): string {
  const directory = mkdtempSync(join(tmpdir(), "quayside-removals-"))
  t.after(() => {
    syncBuiltinESMExports()
    rmSync(directory, { recursive: true })
  })
  mkdirSync(join(directory, "d"))
  for (let i = 0; i < 30; i += 1) {
    writeFileSync(join(directory, "d", `file-${i}`), "")
    if (directories) mkdirSync(join(directory, "d", `directory-${i}/inner`), { recursive: true })
  }
  return directory
}

test("a file that cannot be removed fails the removal, and the others are gone", async (t) => {
  const directory = filledDirectory(t)
  const { unlink } = promises
  let calls = 0
  t.mock.method(promises, "unlink", async (path: string) => {
    calls += 1
    if (calls === 1) throw broken()
    await setImmediate()
    await unlink(path)
  })
  syncBuiltinESMExports()
  using handle = DirectoryHandle.open(directory)
  const location = TreeDirectory.of(handle, 7)
  const removal = removeTree(location, "d", () => "more")
  await assert.rejects(removal, { code: "EIO" })
  assert.equal(readdirSync(join(directory, "d")).length, 1)
})

test("a removal that fails has no file left to remove by a descriptor that is closed", async (t) => {
  const directory = filledDirectory(t, { directories: true })
  const { unlink } = promises
  const { rename } = promises
  let [begun, waiting, moved] = [0, 0, 0]
  const { promise: failure, resolve: fail } = Promise.withResolvers<void>()
  t.mock.method(promises, "unlink", async (path: string) => {
    begun += 1
    waiting += 1
    if (begun === 1) await failure.then(() => setImmediate())
    await unlink(path).finally(() => {
      waiting -= 1
    })
  })
  // Fails at a directory that is found after a file.
  t.mock.method(promises, "rename", async (from: string, to: string) => {
    if (waiting === 0) return rename(from, to)
    fail()
    throw broken()
  })
  syncBuiltinESMExports()
  using handle = DirectoryHandle.open(directory)
  const location = TreeDirectory.of(handle, 7)
  const newName = () => {
    moved += 1
    return `more-${moved}`
  }
  await assert.rejects(removeTree(location, "d", newName), { code: "EIO" })
  assert.ok(begun > 0)
  assert.equal(waiting, 0)
})
