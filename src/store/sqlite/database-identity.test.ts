import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { cp, mkdtemp, rename, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test } from "node:test"
import { createLogger, silentLogger, systemClock } from "#kit"
import { openStore } from "../open.ts"

const root = await mkdtemp(join(tmpdir(), "quayside-place-"))
after(() => rm(root, { recursive: true }))
const newDirectory = () => join(root, randomUUID())

/** Opens the database of a directory and closes it; its name, and what was warned of. */
async function opened(directory: string, options: { isMoved?: boolean } = {}): Promise<{ instance: string; warned: string[] }> {
  const warned: string[] = []
  const logger = createLogger("warn", (line) => warned.push(line))
  await using store = await openStore({ url: `sqlite:${join(directory, "q.db")}`, logger, clock: systemClock, ...options })
  return { instance: store.instance, warned }
}

test("a copy beside the original gets a new name and logs it; the original keeps its name", async () => {
  const [original, copy] = [newDirectory(), newDirectory()]
  await using store = await openStore({ url: `sqlite:${join(original, "q.db")}`, logger: silentLogger, clock: systemClock })
  await cp(original, copy, { recursive: true })
  const first = await opened(copy)
  assert.notEqual(first.instance, store.instance)
  assert.equal(first.warned.length, 1)
  assert.ok(first.warned[0]?.includes(store.instance), "the former name is told")
  assert.deepEqual(await opened(copy), { instance: first.instance, warned: [] })
  await store[Symbol.asyncDispose]()
  assert.deepEqual(await opened(original), { instance: store.instance, warned: [] })
})

test("a copy of the database file alone gets a new name", async () => {
  const [original, copy] = [newDirectory(), newDirectory()]
  const { instance } = await opened(original)
  await cp(join(original, "q.db"), join(copy, "q.db"))
  assert.notEqual((await opened(copy)).instance, instance)
})

test("a moved directory, or a backup restored in its place, keeps its name", async () => {
  const [original, moved, backup] = [newDirectory(), newDirectory(), newDirectory()]
  const { instance } = await opened(original)
  await cp(original, backup, { recursive: true })
  await rename(original, moved)
  assert.deepEqual(await opened(moved), { instance, warned: [] })
  await rm(moved, { recursive: true })
  await cp(backup, moved, { recursive: true })
  assert.deepEqual(await opened(moved), { instance, warned: [] }, "the whole directory")
  await cp(join(backup, "q.db"), join(moved, "q.db"))
  assert.deepEqual(await opened(moved), { instance, warned: [] }, "the file alone")
})

test("a database from another machine gets a new name, unless `isMoved` is set", async () => {
  for (const isMoved of [false, true]) {
    const [original, other] = [newDirectory(), newDirectory()]
    const { instance } = await opened(original)
    using db = new DatabaseSync(join(original, "q.db"))
    db.exec("update meta set value = json_set(value, '$.machine', 'elsewhere', '$.mark', '1-1') where key = 'place'")
    db.close()
    await rename(original, other)
    const here = await opened(other, { isMoved })
    assert.equal(here.instance === instance, isMoved)
    assert.deepEqual(await opened(other), { instance: here.instance, warned: [] })
  }
})

test("a database without a recorded location keeps its name", async () => {
  const directory = newDirectory()
  const { instance } = await opened(directory)
  using db = new DatabaseSync(join(directory, "q.db"))
  db.exec("delete from meta where key = 'place'")
  db.close()
  assert.deepEqual(await opened(directory), { instance, warned: [] })
})
