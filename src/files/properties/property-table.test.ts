import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { bounds } from "#contract"
import { FairScheduler, Yielder } from "#kit"
import { seededRandom } from "../../../test/fixtures/random.ts"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { DeadProperties } from "./dead-properties.ts"
import { type PropertyChange, PropertyTable } from "./property-table.ts"
import { costAt, overhead, PropertyTree } from "./property-tree.ts"

/*
 * A person moves, copies and deletes directories with very many stored properties. Each request is
 * short, and so must be its work: the file server serves everybody in one thread.
 */

const { storedProperties } = bounds.files

/** Properties below a root of their own. */
function open() {
  const folder = mkdtempSync(join(tmpdir(), "quayside-properties-"))
  mkdirSync(join(folder, ".quayside"))
  const root = DirectoryHandle.open(folder)
  const dispose = () => {
    root[Symbol.dispose]()
    rmSync(folder, { recursive: true, force: true })
  }
  return { root, folder, [Symbol.dispose]: dispose }
}

/** Stores about as many properties as one owner may have, many in each of few directories. */
async function fill(properties: DeadProperties, folder: string): Promise<number> {
  const perEntry = 250
  const entries = Math.floor(storedProperties.value / perEntry / 2)
  for (let i = 0; i < entries; i += 1) {
    const changes = Array.from({ length: perEntry }, (_, n) => ({ key: `k ${n}`, value: "" }))
    await properties.patch(`${folder}/${i}`, changes)
  }
  return entries
}

/** How many times as long the first takes as the second; the least of several tries. */
function ratio(one: () => void, other: () => void): number {
  const time = (work: () => void) => {
    const began = performance.now()
    work()
    return performance.now() - began
  }
  const least = (work: () => void) => Math.min(...Array.from({ length: 5 }, () => time(work)))
  return least(one) / least(other)
}

test("moving and deleting directories costs the same, however many properties are below them", () => {
  const table = new PropertyTable()
  for (let i = 0; i < storedProperties.value / 2; i += 1) table.apply({ set: `/users/ann/large/a/${i % 100}`, key: `k ${i}`, value: "" })
  table.apply({ set: "/users/ann/small/a/0", key: "k 0", value: "" })
  const move = (folder: string) => () => {
    const [from, to] = [`/users/ann/${folder}/a`, `/users/ann/${folder}/b`] as const
    for (let i = 0; i < 50; i += 1) {
      assert.ok(table.hasRoomAt(from, to))
      table.apply({ move: from, to })
      table.apply({ move: to, to: from })
      table.apply({ forget: `${from}/none` })
    }
  }
  assert.ok(ratio(move("large"), move("small")) < 20)
})

test("properties are copied in slices, and others are served meanwhile", async () => {
  using place = open()
  await using properties = new DeadProperties(place.root)
  const entries = await fill(properties, "/users/ann/a")
  let slots = 0
  const scheduler = new (class extends FairScheduler {
    override waitForNextSlot(userId: number): Promise<void> {
      slots += 1
      return super.waitForNextSlot(userId)
    }
  })()
  // Each slice is over at once, as on a slow machine.
  const yielder = new (class extends Yielder {
    override pause(): Promise<void> {
      return scheduler.waitForNextSlot(1)
    }
  })()
  await using staged = await properties.stageCopy({ path: "/users/ann/a", to: "/users/ann/b", deep: true }, yielder)
  assert.ok(slots > 3, `${slots}`)
  await properties.move(staged.path, "/users/ann/b")
  const paths = [...((await properties.all()) ?? [])].map(([path]) => path)
  assert.equal(paths.filter((path) => path.startsWith("/users/ann/b/")).length, entries)
  assert.equal(paths.length, 2 * entries)
})

test("properties of a copy that ended early are gone, also for the next process", async () => {
  using place = open()
  {
    await using first = new DeadProperties(place.root)
    await first.patch("/users/ann/a", [{ key: "k a", value: "a" }])
    await first.patch("/users/ann/c/d", [{ key: "k d", value: "d" }])
    // The process ends before the copy does.
    await first.stageCopy({ path: "/users/ann/c", to: "/users/ann/b", deep: true }, new Yielder())
  }
  await using next = new DeadProperties(place.root)
  assert.deepEqual(
    [...((await next.all()) ?? [])].map(([path]) => path),
    ["/users/ann/a", "/users/ann/c/d"],
  )
  {
    await using staged = await next.stageCopy({ path: "/users/ann/a", to: "/users/ann/b", deep: true }, new Yielder())
    await next.move(staged.path, "/users/ann/b")
  }
  await using last = new DeadProperties(place.root)
  assert.deepEqual(
    [...((await last.all()) ?? [])].map(([path]) => path),
    ["/users/ann/a", "/users/ann/c/d", "/users/ann/b"],
  )
})

test("a log is compacted in slices, and changes of that time survive", async () => {
  using place = open()
  await using properties = new DeadProperties(place.root)
  const entries = await fill(properties, "/users/ann/a")
  const folders = ["/users/ann/a", "/users/ann/b"] as const
  const churn = (value: string) => properties.patch("/users/ann/churn", [{ key: "k", value }])
  await properties.compaction
  while (!properties.compaction) await churn("v".repeat(60_000))
  let isOver = false
  const compacting = properties.compaction.finally(() => {
    isOver = true
  })
  let turns = 0
  for (; !isOver; turns += 1) {
    await properties.move(folders[turns % 2 ? 1 : 0], folders[turns % 2 ? 0 : 1])
    await properties.patch(`/users/ann/during/${turns}`, [{ key: "k", value: "" }])
    await new Promise((resolve) => setImmediate(resolve))
  }
  await compacting
  assert.ok(turns > 3, `${turns}`)
  await using next = new DeadProperties(place.root)
  assert.equal([...(await next.entriesWithin("/users/ann/during"))].length, turns)
  assert.equal([...((await next.all()) ?? [])].filter(([path]) => path.startsWith(`${folders[turns % 2 ? 1 : 0]}/`)).length, entries)
  const { size } = statSync(join(place.folder, ".quayside/properties.jsonl"))
  assert.ok(size < 6_000_000, `${size} bytes`)
})

test("longer paths count: a move within one tree exceeds the budget at most twofold", async () => {
  using place = open()
  await using properties = new DeadProperties(place.root)
  await fill(properties, "/users/ann/a")
  const long = Array.from({ length: 30 }, () => "x".repeat(250)).join("/")
  await properties.move("/users/ann/a", `/users/ann/${long}`)
  assert.equal(await properties.all(), undefined, "properties that do not fit are lost")
})

/** A table that looks at every path. */
class ScannedProperties {
  readonly paths = new Map<string, Map<string, string>>()

  apply(entry: PropertyChange): void {
    if ("set" in entry) this.paths.set(entry.set, new Map(this.paths.get(entry.set)).set(entry.key, entry.value))
    else if ("unset" in entry) this.#unset(entry.unset, entry.key)
    else if ("forget" in entry) for (const path of this.#within(entry.forget)) this.paths.delete(path)
    else if ("move" in entry) this.#move(entry.move, entry.to)
  }

  #unset(path: string, key: string): void {
    this.paths.get(path)?.delete(key)
    if (this.paths.get(path)?.size === 0) this.paths.delete(path)
  }

  #move(from: string, to: string): void {
    if (`${to}/`.startsWith(`${from}/`)) return
    for (const path of this.#within(to)) this.paths.delete(path)
    for (const path of this.#within(from)) {
      this.paths.set(to + path.slice(from.length), this.paths.get(path) ?? new Map())
      this.paths.delete(path)
    }
  }

  #within = (path: string): string[] => [...this.paths.keys()].filter((one) => `${one}/`.startsWith(`${path}/`))

  get cost(): number {
    const names = new Set<string>([""])
    let cost = 0
    for (const [path, stored] of this.paths) {
      for (const [key, value] of stored) cost += path.length + key.length + value.length + overhead
      for (let at = path; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) names.add(at)
    }
    return cost + names.size * overhead
  }
}

const somePaths = ["/a", "/ab", "/a/b", "/a/b/c", "/a/bc", "/a/b/c/d", "/e", "/e/f", "/e/f/g"]

test("after any sequence of changes the table answers as a scan of all paths does", () => {
  const random = seededRandom(7)
  const [table, tree, scanned] = [new PropertyTable(), new PropertyTree(), new ScannedProperties()]
  const change = (): PropertyChange => {
    const path = random.pick(somePaths)
    const key = `k ${random.below(3)}`
    if (random.once(6)) return { move: path, to: random.pick(somePaths) }
    if (random.once(6)) return { forget: path }
    return random.once(4) ? { unset: path, key } : { set: path, key, value: "v".repeat(random.below(9)) }
  }
  const sorted = (all: Iterable<[string, ReadonlyMap<string, string>]>) =>
    [...all].map(([path, stored]) => [path, [...stored].sort()]).sort()
  for (let i = 0; i < 3_000; i += 1) {
    const entry = change()
    table.apply(entry)
    scanned.apply(entry)
    if ("set" in entry) tree.set(entry.set, entry.key, entry.value)
    else if ("unset" in entry) tree.unset(entry.unset, entry.key)
    else if ("forget" in entry) tree.remove(entry.forget)
    else if ("move" in entry) tree.move(entry.move, entry.to)
    assert.deepEqual(sorted(table), sorted(scanned.paths), JSON.stringify(entry))
    const root = tree.find("/")
    assert.equal(root && costAt(root, 0), scanned.cost, JSON.stringify(entry))
  }
})
