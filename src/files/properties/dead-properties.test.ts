import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { Yielder } from "#kit"
import { smallDisk } from "../../../test/fixtures/files/small-disk.ts"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { DeadProperties } from "./dead-properties.ts"

const skip = process.getuid?.() !== 0 && "needs the right to mount"

/** Properties on a disk of so many KiB. */
async function createFixture(kib: number, kind: "memory" | "ext4" = "memory") {
  await using stack = new AsyncDisposableStack()
  const disk = stack.use(await smallDisk(kib, kind))
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
    async kept() {
      await using next = new DeadProperties(root)
      return [...((await next.all()) ?? [])].map(([path, stored]) => [path, stored.size])
    },
    /** The paths that have properties in memory. */
    paths: async () => [...((await properties.all()) ?? [])].map(([path]) => path),
    files: () => readdirSync(hidden),
    log: join(hidden, "properties.jsonl"),
    size: () => statSync(join(hidden, "properties.jsonl")).size,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

test("a full disk refuses a PROPPATCH as a whole, and acknowledged properties survive a restart", { skip }, async () => {
  await using fixture = await createFixture(64)
  await fixture.set("/a", 1_000)
  fixture.disk.fillUp(8)
  await assert.rejects(() => fixture.set("/b", 3_000, 20_000), { code: "ENOSPC" })
  await assert.rejects(() => fixture.set("/a", 20_000), { code: "ENOSPC" })
  assert.deepEqual(await fixture.paths(), ["/a"])
  assert.deepEqual(await fixture.kept(), [["/a", 1]])
  await fixture.disk.makeRoom()
  await fixture.set("/b", 3_000, 20_000)
  assert.deepEqual(await fixture.kept(), [
    ["/a", 1],
    ["/b", 2],
  ])
})

test("a property log that cannot be compacted on a full disk stays as it is", { skip }, async () => {
  await using fixture = await createFixture(4_096)
  const paths = Array.from({ length: 10 }, (_, n) => `/${n}`)
  for (const path of paths) await fixture.set(path, 100_000)
  fixture.disk.fillUp(512)
  await fixture.set("/more", 100_000)
  await fixture.properties.compaction
  assert.deepEqual(
    await fixture.kept(),
    [...paths, "/more"].map((path) => [path, 1]),
  )
  assert.deepEqual(fixture.files(), ["properties.jsonl"])
  await fixture.disk.makeRoom()
  for (const path of [...paths, ...paths]) {
    await fixture.set(path, 110_000)
    await fixture.properties.compaction
  }
  assert.ok(fixture.size() < 2_600_000, `${fixture.size()} bytes after compaction`)
  assert.equal((await fixture.kept()).length, 11)
})

test("deleted and moved entries update their properties on a full disk, and the log catches up", {
  skip,
}, async () => {
  await using fixture = await createFixture(256)
  const [deleted = "", moved = "", copied = ""] = ["a", "b", "c"].map((name) => `/${name}`.repeat(3_000))
  for (const path of [deleted, moved]) await fixture.set(path, 10)
  fixture.disk.fillUp()
  await fixture.properties.remove(deleted)
  {
    await using staged = await fixture.properties.stageCopy({ path: moved, to: copied, deep: true }, new Yielder())
    await fixture.properties.move(staged.path, copied)
  }
  await fixture.properties.move(moved, "/there")
  assert.deepEqual(await fixture.paths(), ["/there"])
  await assert.rejects(() => fixture.set("/new", 10_000), { code: "ENOSPC" })
  await fixture.disk.makeRoom()
  await fixture.set("/new", 10_000)
  assert.deepEqual(await fixture.kept(), [
    ["/there", 1],
    ["/new", 1],
  ])
})

test("changes at the same time are in the log in their order, but for those that the disk has no room for", {
  skip,
}, async () => {
  await using fixture = await createFixture(56)
  const changes: [path: string, length: number][] = [1, 60_000, 2, 3, 60_000, 4].map((length, i) => [`/${i % 3}`, length])
  const outcomes = await Promise.allSettled([
    ...changes.map(([path, length]) => fixture.set(path, length)),
    fixture.properties.move("/0", "/moved"),
    fixture.set("/0", 5, 6),
  ])
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.code : undefined)),
    [undefined, "ENOSPC", undefined, undefined, "ENOSPC", undefined, undefined, undefined],
  )
  const expected = [
    ["/2", 1],
    ["/moved", 1],
    ["/0", 2],
  ]
  assert.deepEqual(await fixture.kept(), expected)
  assert.equal((await fixture.properties.all())?.get("/moved")?.get("key 0")?.length, 3)
  assert.deepEqual(
    await fixture.paths(),
    expected.map(([path]) => path),
  )
})

test("one person's changes wait for another's", { skip }, async () => {
  await using fixture = await createFixture(1_024)
  const made: string[] = []
  const change = async (person: string, n: number) => {
    await fixture.properties.patch(`/${person}/${n}`, [{ key: "k", value: "" }], { person })
    made.push(person)
  }
  await Promise.all([...Array.from({ length: 20 }, (_, n) => change("ann", n)), change("bob", 0)])
  assert.equal(made.indexOf("bob"), 1)
})

test("a part of a refused change that could not be removed from the log is removed before the next one", {
  skip,
}, async () => {
  await using fixture = await createFixture(4_096, "ext4")
  await fixture.set("/a", 1_000)
  // The kernel refuses to truncate the file.
  execFileSync("chattr", ["+a", fixture.log])
  fixture.disk.fillUp(16)
  const before = fixture.size()
  await assert.rejects(() => fixture.set("/b", 10, 100_000), { code: "ENOSPC" })
  assert.notEqual(fixture.size(), before, "a part was written")
  await fixture.disk.makeRoom()
  await assert.rejects(() => fixture.set("/c", 10), { code: "EPERM" })
  execFileSync("chattr", ["-a", fixture.log])
  await fixture.set("/c", 10)
  const expected = [
    ["/a", 1],
    ["/c", 1],
  ]
  assert.deepEqual(await fixture.kept(), expected)
  while (!fixture.properties.compaction) await fixture.set("/a", 100_000)
  await fixture.set("/d", 10)
  await fixture.properties.compaction
  assert.deepEqual(await fixture.kept(), [...expected, ["/d", 1]])
})

test("the log catches up while it is compacted", { skip }, async () => {
  await using fixture = await createFixture(8_192)
  const removed = "/a".repeat(3_000)
  await fixture.set(removed, 10)
  for (let i = 0; !fixture.properties.compaction; i += 1) await fixture.set(`/${i}`, 100_000)
  fixture.disk.fillUp()
  await fixture.properties.remove(removed)
  await fixture.disk.makeRoom()
  await fixture.set("/new", 10)
  await fixture.properties.compaction
  assert.deepEqual(
    (await fixture.kept()).map(([path]) => path),
    await fixture.paths(),
  )
  assert.ok(!(await fixture.paths()).includes(removed))
  assert.deepEqual(fixture.files(), ["properties.jsonl"])
})
