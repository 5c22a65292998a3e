import assert from "node:assert/strict"
import { mkdirSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { Yielder } from "#kit"
import { smallDisk } from "../../../test/fixtures/files/small-disk.ts"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { DeadProperties } from "./dead-properties.ts"

const skip = process.getuid?.() !== 0 && "needs the right to mount"

/** Properties on a disk of so many KiB. */
async function createFixture(kib: number) {
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
    size: () => statSync(join(hidden, "properties.jsonl")).size,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

test("a full disk refuses a PROPPATCH as a whole, and acknowledged properties survive a restart", { skip }, async () => {
  await using fixture = await createFixture(64)
  fixture.set("/a", 1_000)
  fixture.disk.fillUp(8)
  assert.throws(() => fixture.set("/b", 3_000, 20_000), { code: "ENOSPC" })
  assert.throws(() => fixture.set("/a", 20_000), { code: "ENOSPC" })
  assert.deepEqual(
    [...(fixture.properties.all() ?? [])].map(([path]) => path),
    ["/a"],
  )
  assert.deepEqual(fixture.kept(), [["/a", 1]])
  await fixture.disk.makeRoom()
  fixture.set("/b", 3_000, 20_000)
  assert.deepEqual(fixture.kept(), [
    ["/a", 1],
    ["/b", 2],
  ])
})

test("a property log that cannot be compacted on a full disk stays as it is", { skip }, async () => {
  await using fixture = await createFixture(4_096)
  const paths = Array.from({ length: 10 }, (_, n) => `/${n}`)
  for (const path of paths) fixture.set(path, 100_000)
  fixture.disk.fillUp(512)
  fixture.set("/more", 100_000)
  await fixture.properties.compaction
  assert.deepEqual(
    fixture.kept(),
    [...paths, "/more"].map((path) => [path, 1]),
  )
  assert.deepEqual(fixture.files(), ["properties.jsonl"])
  await fixture.disk.makeRoom()
  for (const path of [...paths, ...paths]) {
    fixture.set(path, 110_000)
    await fixture.properties.compaction
  }
  assert.ok(fixture.size() < 2_600_000, `${fixture.size()} bytes after compaction`)
  assert.equal(fixture.kept().length, 11)
})

test("deleted and moved entries update their properties on a full disk, and the log catches up", {
  skip,
}, async () => {
  await using fixture = await createFixture(256)
  const [deleted = "", moved = "", copied = ""] = ["a", "b", "c"].map((name) => `/${name}`.repeat(3_000))
  for (const path of [deleted, moved]) fixture.set(path, 10)
  fixture.disk.fillUp()
  fixture.properties.remove(deleted)
  {
    using staged = await fixture.properties.stageCopy({ path: moved, to: copied, deep: true }, new Yielder())
    fixture.properties.move(staged.path, copied)
  }
  fixture.properties.move(moved, "/there")
  assert.deepEqual(
    [...(fixture.properties.all() ?? [])].map(([path]) => path),
    ["/there"],
  )
  assert.throws(() => fixture.set("/new", 10_000), { code: "ENOSPC" })
  await fixture.disk.makeRoom()
  fixture.set("/new", 10_000)
  assert.deepEqual(fixture.kept(), [
    ["/there", 1],
    ["/new", 1],
  ])
})
