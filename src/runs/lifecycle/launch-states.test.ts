import assert from "node:assert/strict"
import { test } from "node:test"
import { silentLogger } from "#kit"
import type { RunRow, Store } from "#store"
import type { RunsContext } from "../context.ts"
import { RunCache } from "../run-cache.ts"
import { RunsFixture } from "../testing/runs-fixture.ts"
import { LaunchStateWriter } from "./launch-states.ts"

async function aLaunch() {
  const fixture = await RunsFixture.open()
  const { store } = fixture
  const runs = await fixture.runs()
  const { id } = await runs.start(fixture.request("fake/stuck-pull"))
  await runs.close()
  const run = await fixture.row(id)
  const states: string[] = []
  const runCache = new RunCache()
  runCache.publish(run)
  let changes = 0
  const change: Store["change"] = (work, options) => {
    changes += 1
    return store.change(work, options)
  }
  const events = { stateChanged: async (_: unknown, { state }: RunRow) => void states.push(state) }
  const ctx = { change, events, runCache, clock: { now: () => 77 }, logger: silentLogger } as unknown as RunsContext
  const writer = new LaunchStateWriter(ctx, { id: run.id, state: "pulling" })
  return { fixture, run, runCache, states, writer, changes: () => changes }
}

test("states that arrive before a write begins are one change, and a state that is stored is none", async () => {
  const { fixture, run, states, writer, changes } = await aLaunch()
  await using _ = fixture
  writer.write("pulling")
  await writer.flush()
  assert.equal(changes(), 0)
  for (const state of ["creating", "pulling", "starting"] as const) writer.write(state)
  writer.write("starting", { imageDigest: "sha256:x" })
  const address = { host: "127.0.0.1", port: 5 }
  await writer.writeReady(address)
  const { state, imageDigest, readyTime, version } = await fixture.row(run.id)
  assert.deepEqual([changes(), state, imageDigest, readyTime, version], [1, "ready", "sha256:x", 77, run.version + 1])
  assert.deepEqual(states, ["creating", "starting", "ready"], "each state has its event")
})

test("a launch does not change a run that another process stopped, and the cache learns of it", async () => {
  const { fixture, run, runCache, states, writer } = await aLaunch()
  await using _ = fixture
  const stopping = await fixture.store.change((tx) => tx.runs.update(run, { state: "stopping", wanted: "stop" }))
  writer.write("creating")
  await writer.writeReady({ host: "127.0.0.1", port: 5 })
  assert.deepEqual(await fixture.row(run.id), stopping)
  assert.deepEqual(runCache.row(run.id), stopping)
  assert.deepEqual(states, [])
})

test("a launch goes on from a row that another process changed", async () => {
  const { fixture, run, runCache, writer } = await aLaunch()
  await using _ = fixture
  await fixture.store.change((tx) => tx.runs.update(run, { progress: { step: "pull", current: 1, total: null, unit: "bytes" } }))
  writer.write("creating")
  await writer.flush()
  assert.deepEqual([(await fixture.row(run.id)).state, runCache.row(run.id)?.version], ["creating", run.version + 2])
})
