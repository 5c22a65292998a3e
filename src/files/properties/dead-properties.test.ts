import assert from "node:assert/strict"
import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { smallDisk } from "../../../test/fixtures/files/small-disk.ts"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { DeadProperties } from "./dead-properties.ts"

const skip = process.getuid?.() !== 0 && "needs the right to mount"

/** Properties on a disk of so many KiB. */
async function scene(kib: number) {
  await using stack = new AsyncDisposableStack()
  const disk = stack.use(await smallDisk(kib))
  const hidden = join(disk.path, ".quayside")
  mkdirSync(hidden)
  const root = stack.use(DirectoryHandle.open(disk.path))
  const properties = stack.use(new DeadProperties(root))
  const held = stack.move()
  return {
    disk,
    properties,
    set: (path: string, ...lengths: number[]) =>
      properties.patch(
        path,
        lengths.map((length, n) => ({ key: `key ${n}`, value: "x".repeat(length) })),
      ),
    /** The paths that have properties for the next process, and how many. */
    kept: () => [...(new DeadProperties(root).all() ?? [])].map(([path, stored]) => [path, stored.size]),
    files: () => readdirSync(hidden),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

test("a full disk refuses a PROPPATCH as a whole, and acknowledged properties survive a restart", { skip }, async () => {
  await using it = await scene(64)
  it.set("/a", 1_000)
  it.disk.fillUp(8)
  assert.throws(() => it.set("/b", 3_000, 20_000), { code: "ENOSPC" })
  assert.throws(() => it.set("/a", 20_000), { code: "ENOSPC" })
  assert.deepEqual(
    [...(it.properties.all() ?? [])].map(([path]) => path),
    ["/a"],
  )
  assert.deepEqual(it.kept(), [["/a", 1]])
  await it.disk.makeRoom()
  it.set("/b", 3_000, 20_000)
  assert.deepEqual(it.kept(), [
    ["/a", 1],
    ["/b", 2],
  ])
})

test("a property log that cannot be compacted on a full disk stays as it is", { skip }, async () => {
  await using it = await scene(4_096)
  const paths = Array.from({ length: 10 }, (_, n) => `/${n}`)
  for (const path of paths) it.set(path, 100_000)
  it.disk.fillUp(512)
  assert.throws(() => it.set("/more", 100_000), { code: "ENOSPC" })
  assert.deepEqual(
    it.kept(),
    paths.map((path) => [path, 1]),
  )
  assert.deepEqual(it.files(), ["properties.jsonl"])
  await it.disk.makeRoom()
  it.set("/more", 100_000)
  assert.equal(it.kept().length, 11)
})

test("deleted and moved entries update their properties on a full disk, and the log catches up", {
  skip,
}, async () => {
  await using it = await scene(256)
  const [deleted = "", moved = "", copied = ""] = ["a", "b", "c"].map((name) => `/${name}`.repeat(3_000))
  for (const path of [deleted, moved]) it.set(path, 10)
  it.disk.fillUp()
  it.properties.remove(deleted)
  it.properties.copy(moved, copied, true)
  it.properties.move(moved, "/there")
  assert.deepEqual(
    [...(it.properties.all() ?? [])].map(([path]) => path),
    ["/there"],
  )
  assert.throws(() => it.set("/new", 10_000), { code: "ENOSPC" })
  await it.disk.makeRoom()
  it.set("/new", 10_000)
  assert.deepEqual(it.kept(), [
    ["/there", 1],
    ["/new", 1],
  ])
})
