import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { createEngine, openFakeDaemon } from "#engine"
import { openEvents } from "#events"
import { ManualClock, silentLogger, systemClock } from "#kit"
import { type ImageRow, openStore, unrestrictedViewer } from "#store"
import { ImagePulls } from "./pulls.ts"

const actor = { userName: "ann", address: "127.0.0.1", requestId: "r" }
const policy = { verifyAccess: false, allowLocal: false }

async function open(clock = systemClock) {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), "quayside-pulls-"))
  stack.defer(() => rm(folder, { recursive: true }))
  const store = stack.use(await openStore({ url: `sqlite:${join(folder, "quayside.db")}`, logger: silentLogger, clock: systemClock }))
  const daemon = stack.use(await openFakeDaemon())
  const engine = stack.use(await createEngine({ kind: "fake", daemon, instance: "test" }))
  const events = openEvents({ store, logger: silentLogger })
  const pulls = stack.use(new ImagePulls({ engine, store, events, clock, logger: silentLogger }))
  const image = (reference: string) => ({ id: 7, image: reference }) as ImageRow
  const reported = async () => (await store.events.after(0, 100)).map(({ event, data }) => ({ event, ...(data as { State: string }) }))
  const parts = stack.move()
  const pull = (reference: string) => pulls.pull({ image: image(reference), userId: 1, owner: "ann", policy, actor })
  return { store, pulls, pull, reported, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

test("a pull publishes its progress and its result, and the audit names the person", async () => {
  await using fixture = await open()
  await fixture.pull("fake/http")
  const [first, last] = await fixture.reported()
  assert.deepEqual([first?.event, first?.State], ["image.progress", "pulling"])
  assert.deepEqual(last, { event: "image.progress", ID: 7, State: "present", Progress: null, Reason: null })
  await assert.rejects(fixture.pull("fake/missing"), { code: "image_not_found" })
  const reason = { code: "image_not_found", msg: "Neither the engine nor the registry has the image" }
  assert.deepEqual((await fixture.reported()).at(-1), { event: "image.progress", ID: 7, State: "failed", Progress: null, Reason: reason })
  const { rows } = await fixture.store.audits.list({ action: "image.pull" }, unrestrictedViewer, { page: 1, pageSize: 9 })
  assert.deepEqual(
    rows.map((row) => [row.actor, row.resource]),
    [
      ["ann", { type: "image", id: 7 }],
      ["ann", { type: "image", id: 7 }],
    ],
  )
})

test("a pull without progress for two minutes times out", async () => {
  const clock = new ManualClock()
  await using fixture = await open(clock)
  const pulling = fixture.pull("fake/stuck-pull")
  const rejected = assert.rejects(pulling, { code: "timeout_pulling" })
  while ((await fixture.reported()).length === 0) await new Promise(setImmediate)
  await clock.advance(120_001)
  await rejected
  assert.equal(fixture.pulls.isPulling(1, "fake/stuck-pull"), false)
})

test("pulls are canceled when the service stops", async () => {
  const fixture = await open()
  const rejected = assert.rejects(fixture.pull("fake/stuck-pull"), { code: "image_pull_failed", message: /Quayside stops/ })
  while ((await fixture.reported()).length === 0) await new Promise(setImmediate)
  await fixture[Symbol.asyncDispose]()
  await rejected
})
