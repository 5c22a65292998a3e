import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import {
  createEngine,
  type Engine,
  EngineError,
  type LittleRoom,
  openFakeDaemon,
  type RemovableImage,
  type RoomRequest,
  type StoredImage,
} from "#engine"
import { ManualClock, silentLogger } from "#kit"
import { openStore, type RunRow } from "#store"
import { eventually } from "../../test/fixtures/eventually.ts"
import { specOf } from "../../test/fixtures/run-spec.ts"
import { ImageMaintenance } from "./image-maintenance.ts"
import { createPullRecorder, ImagePruner } from "./image-pruner.ts"
import { KeptImagePuller } from "./kept-images.ts"
import type { PruneRules } from "./prune-policy.ts"

const minute = 60_000
const day = 86_400_000
const anyone = { verifyAccess: false, allowLocal: false }
const never = new AbortController().signal
const ignore = () => {}

/** Images of a fake engine, by a clock of the test. */
async function open(rules: Partial<PruneRules> = {}) {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), "quayside-keeper-"))
  stack.defer(() => rm(folder, { recursive: true }))
  const clock = new ManualClock()
  const store = stack.use(await openStore({ url: `sqlite:${join(folder, "quayside.db")}`, logger: silentLogger, clock }))
  const daemon = stack.use(await openFakeDaemon())
  const context = { store, clock, logger: silentLogger }
  const engine = stack.use(await createEngine({ kind: "fake", daemon, instance: "test", onPull: createPullRecorder(context) }))
  const pulls: string[] = []
  const fetch = (image: string, owner = "ann") => {
    pulls.push(image)
    return engine.pull(image, { policy: anyone, owner, report: ignore, signal: never })
  }
  const kept = new KeptImagePuller({ ...context, engine, pulls: { keep: (row) => fetch(row.image) }, policyOf: async () => anyone })
  const pruner = new ImagePruner({ ...context, engine, rules: { days: 0, maxBytes: 0, ...rules } })
  const ann = await store.change((tx) =>
    tx.users.insert({ userName: "ann", passwordHash: null, email: "", comment: "", isAdmin: false, isDisabled: false, limits: {} }),
  )
  const texts = { name: "i", comment: "", command: "", env: "", port: "", doc: "" }
  const flags = { isPublished: false, isTrusted: false, writablePaths: [], userId: ann.id, writtenBy: ann.id }
  const keep = (image: string, keepPresent = true) => store.change((tx) => tx.images.insert({ ...texts, ...flags, image, keepPresent }))
  const digestOf = async (image: string) => (await engine.image(image, anyone))?.digest
  const owned = stack.move()
  const made = { store, daemon, engine, clock, kept, pruner, pulls, fetch, keep, digestOf }
  return { ...made, round: () => kept.round(never), [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test("a kept image is fetched, and again when the engine lost it", async () => {
  await using fixture = await open()
  await fixture.keep("fake/http")
  await fixture.keep("fake/busy", false)
  await fixture.keep("fake/built")
  await fixture.round()
  await fixture.round()
  assert.deepEqual(fixture.pulls, ["fake/http"], "an image that was built here is never fetched")
  fixture.daemon.images.clear()
  await fixture.round()
  assert.deepEqual(fixture.pulls, ["fake/http", "fake/http"])
})

test("a kept image is fetched again when its tag moved, which the registry is asked every six hours", async () => {
  await using fixture = await open()
  await fixture.keep("fake/http")
  await fixture.round()
  const first = await fixture.digestOf("fake/http")
  fixture.daemon.movedTags.set("fake/http", 1)
  await fixture.clock.advance(359 * minute)
  await fixture.round()
  assert.equal(await fixture.digestOf("fake/http"), first)
  await fixture.clock.advance(minute)
  await fixture.round()
  assert.notEqual(await fixture.digestOf("fake/http"), first)
})

test("a fetch that failed is repeated after pauses that grow to six hours", async () => {
  await using fixture = await open()
  await fixture.keep("fake/missing")
  const pauses: number[] = []
  for (let minutes = 0, last = 0; pauses.length < 9; minutes += 5) {
    const before = fixture.pulls.length
    await fixture.round()
    if (fixture.pulls.length > before && minutes > 0) pauses.push(minutes - last)
    if (fixture.pulls.length > before) last = minutes
    await fixture.clock.advance(5 * minute)
  }
  assert.deepEqual(pauses, [5, 10, 20, 40, 80, 160, 320, 360, 360])
})

test("at most two kept images are fetched at once", async () => {
  await using fixture = await open()
  for (let n = 1; n <= 5; n += 1) await fixture.keep(`fake/slow-pull:${n}`)
  let [now, most] = [0, 0]
  const pulls = {
    keep: async (row: { image: string }) => {
      now += 1
      most = Math.max(most, now)
      const fetched = await fixture.fetch(row.image)
      now -= 1
      return fetched
    },
  }
  const { engine, store, clock } = fixture
  await new KeptImagePuller({ engine, store, clock, logger: silentLogger, pulls, policyOf: async () => anyone }).round(never)
  assert.deepEqual([most, fixture.pulls.length], [2, 5])
})

test("a round begins at once when an image is marked, and a failed round ends nothing", async () => {
  await using fixture = await open()
  const rounds = { kept: 0, pruned: 0 }
  const kept = {
    round: async () => {
      rounds.kept += 1
      throw new EngineError("engine_unreachable", "down")
    },
  }
  const prune = async () => {
    rounds.pruned += 1
  }
  await using keeper = new ImageMaintenance({ kept, pruner: { prune }, clock: fixture.clock, logger: silentLogger })
  keeper.start()
  await eventually("both began", () => rounds.kept === 1 && rounds.pruned === 1)
  await new Promise(setImmediate)
  keeper.wake()
  await eventually("a second round began", () => rounds.kept === 2)
})

test("only images that Quayside fetched are pruned, when they are old and nothing needs them", async () => {
  await using fixture = await open({ days: 30 })
  const { engine, daemon, store, clock, pruner, digestOf } = fixture
  const { digest: theirs } = await fixture.fetch("fake/computing")
  await store.change((tx) => tx.pulledImages.forget(theirs))
  for (const image of ["fake/http", "fake/busy", "fake/slow", "fake/writes", "fake/computing"]) await fixture.fetch(image)
  assert.equal(
    (await store.pulledImages.all()).some(({ digest }) => digest === theirs),
    false,
  )
  await fixture.keep("fake/busy")
  const running = specOf({ image: "fake/slow" })
  await engine.start(running, ignore, never)
  await clock.advance(20 * day)
  pruner.recordUse(String(await digestOf("fake/writes")))
  await clock.advance(11 * day)
  assert.deepEqual(
    (await pruner.decide()).filter(({ prune }) => prune).map(({ image }) => image.references),
    [["docker.io/fake/http:latest"], ["docker.io/fake/slow:latest"]],
    "the store knows of no run",
  )
  await pruner.prune()
  assert.equal(await digestOf("fake/http"), undefined)
  for (const image of ["fake/busy", "fake/slow", "fake/writes"]) assert.notEqual(await digestOf(image), undefined, image)
  assert.ok(daemon.storedImages.has(theirs))
  await engine.stop(running.key)
  await pruner.prune()
  assert.equal(await digestOf("fake/slow"), undefined)
})

test("without settings nothing is pruned, and a dry run by other rules removes nothing", async () => {
  await using fixture = await open()
  await fixture.fetch("fake/http")
  await fixture.clock.advance(900 * day)
  await fixture.pruner.prune()
  assert.deepEqual(
    (await fixture.pruner.decide({ days: 1, maxBytes: 0 })).map(({ prune }) => prune),
    [true],
  )
  assert.notEqual(await fixture.digestOf("fake/http"), undefined)
})

test("an image that somebody removed and fetched again by hand is never pruned", async () => {
  await using fixture = await open({ days: 1 })
  const { digest } = await fixture.fetch("fake/http")
  fixture.daemon.images.clear()
  fixture.daemon.storedImages.clear()
  await fixture.pruner.prune()
  fixture.daemon.images.set("fake/http", digest)
  fixture.daemon.storedImages.add(digest)
  await fixture.clock.advance(900 * day)
  await fixture.pruner.prune()
  assert.equal(await fixture.digestOf("fake/http"), digest)
})

const gib = 2 ** 30
/** The names of the images that the engine has, without their registry. */
const storedOf = async (engine: Engine) =>
  (await engine.images()).flatMap(({ references }) => references.map((name) => /fake\/(.*)$/.exec(name)?.[1]))

/** A pull that lacks so many bytes, which removals give it. */
function roomOf(engine: Engine, { owner, lackingBytes, totalBytes }: { owner: string } & LittleRoom): RoomRequest {
  const sum = async () => (await engine.images()).reduce((bytes, { size }) => bytes + size, 0)
  const before = sum()
  const measure = async () => {
    const lacking = lackingBytes - ((await before) - (await sum()))
    return lacking > 0 ? { lackingBytes: lacking, totalBytes } : undefined
  }
  return { owner, measure, assertOffered: async () => {}, report: ignore }
}

test("room for a pull is made of images that nobody needs, first of those fetched for whoever has most", async () => {
  await using fixture = await open()
  const { engine, clock, pruner, fetch } = fixture
  await fetch("fake/http", "bob")
  for (const size of [5, 1, 3]) {
    await clock.advance(minute)
    await fetch(`fake/huge:${size}`, "hog")
  }
  await fixture.keep("fake/huge:1")
  const room = (lackingBytes: number) => pruner.makeRoom(roomOf(engine, { owner: "bob", lackingBytes, totalBytes: 100 * gib }))
  await room(6 * gib)
  assert.equal((await engine.images()).length, 4, "they were fetched just now")

  await clock.advance(15 * minute)
  await room(2 * gib)
  assert.deepEqual((await storedOf(engine)).sort(), ["http:latest", "huge:1", "huge:3"])
  await room(3 * gib)
  assert.deepEqual((await storedOf(engine)).sort(), ["http:latest", "huge:1"])
  await room(gib)
  assert.deepEqual(await storedOf(engine), ["huge:1"], "and of anybody's, if there is nothing else")
  await room(gib)
})

test("an image of very many files makes room before larger ones of others", async (t) => {
  await using fixture = await open()
  const { engine, clock, pruner, fetch } = fixture
  await fetch("fake/huge:3", "bob")
  await clock.advance(minute)
  await fetch("fake/http", "hog")
  await clock.advance(15 * minute)
  const { images } = engine
  const withRoom = (image: StoredImage) => (String(image.references).includes("http") ? { ...image, room: 4 * gib } : image)
  t.mock.method(engine, "images", async () => (await images.call(engine)).map(withRoom))
  await pruner.makeRoom(roomOf(engine, { owner: "bob", lackingBytes: 1, totalBytes: 100 * gib }))
  assert.deepEqual(await storedOf(engine), ["huge:3"])
})

test("a person whose runs use images of half a disk that is nearly full gets no more, and others do", async (t) => {
  await using fixture = await open()
  const { engine, store, pruner, fetch } = fixture
  for (const size of [3, 4]) {
    await fetch(`fake/huge:${size}`, "hog")
    await fixture.keep(`fake/huge:${size}`)
  }
  const room = (owner: string, lackingBytes: number, totalBytes: number) =>
    pruner.makeRoom(roomOf(engine, { owner, lackingBytes, totalBytes }))
  await room("hog", gib, 13 * gib)
  const runs = [3, 4].map((size) => ({ spec: { image: `fake/huge:${size}` }, imageDigest: "" }) as RunRow)
  t.mock.method(store.runs, "live", async () => runs)
  await assert.rejects(room("hog", gib, 13 * gib), { code: "disk_full", message: /7 GiB .* 6.5 GiB/ })
  await room("bob", gib, 13 * gib)
  await room("", gib, 13 * gib)
  await room("hog", gib, 14 * gib)
  await room("hog", 0, 13 * gib)
  assert.equal((await engine.images()).length, 2)
})

test("two pulls at once remove no more than one of them lacks", async () => {
  await using fixture = await open()
  const { engine, clock, pruner, fetch } = fixture
  for (const size of [3, 4]) await fetch(`fake/huge:${size}`)
  await clock.advance(15 * minute)
  const request = roomOf(engine, { owner: "bob", lackingBytes: gib, totalBytes: 100 * gib })
  await Promise.all([pruner.makeRoom(request), pruner.makeRoom(request)])
  assert.equal((await engine.images()).length, 1)
})

test("an image that the engine cannot remove keeps no other from going, and no pull from its room", async (t) => {
  await using fixture = await open({ days: 1 })
  const { engine, clock, pruner, fetch } = fixture
  for (const size of [1, 2, 3, 4]) await fetch(`fake/huge:${size}`)
  const { removeImage } = engine
  t.mock.method(engine, "removeImage", async (image: RemovableImage) => {
    if (/huge:[14]/.test(String(image.references))) throw new EngineError("engine_error", "layer is damaged")
    return removeImage.call(engine, image)
  })
  await clock.advance(15 * minute)
  await pruner.makeRoom(roomOf(engine, { owner: "bob", lackingBytes: gib, totalBytes: 100 * gib }))
  assert.deepEqual((await storedOf(engine)).sort(), ["huge:1", "huge:3", "huge:4"])
  await clock.advance(2 * day)
  await pruner.prune()
  assert.deepEqual((await storedOf(engine)).sort(), ["huge:1", "huge:4"])
})

test("no image goes for one that the registry does not offer, as without a network, and none after its pull ended", async () => {
  await using fixture = await open()
  const { engine, clock, pruner, fetch } = fixture
  for (const size of [1, 2, 3]) await fetch(`fake/huge:${size}`)
  await clock.advance(15 * minute)
  const request = roomOf(engine, { owner: "bob", lackingBytes: 5 * gib, totalBytes: 100 * gib })
  const asked: string[] = []
  const assertOffered = async () => {
    asked.push("offered")
    throw new EngineError("image_pull_failed", "no route")
  }
  await assert.rejects(pruner.makeRoom({ ...request, assertOffered }), { code: "image_pull_failed" })
  assert.equal((await engine.images()).length, 3)
  const measured: unknown[] = []
  const measure = async () => {
    if (measured.push(1) > 2) throw new Error("stopped")
    return request.measure()
  }
  await assert.rejects(pruner.makeRoom({ ...request, measure }), /stopped/)
  assert.equal((await engine.images()).length, 1)
  assert.deepEqual(asked, ["offered"])
})
