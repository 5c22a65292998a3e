import assert from "node:assert/strict"
import { test } from "node:test"
import type { Failure } from "#contract"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"

test("a start without a reachable engine fails with `engine_unreachable`", async () => {
  await using fixture = await RunsFixture.open()
  fixture.fake.reachable = false
  await using runs = await fixture.runs()
  const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http"))).id)
  assert.deepEqual([run.state, run.reason?.code], ["failed", "engine_unreachable"])
  fixture.fake.reachable = true
  const ready = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http"))).id)
  assert.equal(ready.state, "ready")
  fixture.fake.reachable = false
  const repeated = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http", { person: 1 }))).id)
  assert.deepEqual([repeated.state, repeated.reason?.code], ["failed", "engine_unreachable"])
})

test("an unreachable engine ends no run", async () => {
  await using fixture = await RunsFixture.open()
  const { engine, observations } = await fixture.observedEngine()
  await using runs = await fixture.runs({ engine })
  const { id } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  const address = runs.target(id)?.address
  fixture.fake.reachable = false
  await observations(3)
  assert.equal((await fixture.row(id)).state, "ready")
  assert.deepEqual(runs.target(id)?.address, address)
  fixture.fake.reachable = true
  await observations(2)
  assert.deepEqual(fixture.statesOf(id), ["pulling", "creating", "starting", "ready"])
})

test("a stop without a reachable engine reports it, stays `stopping`, and is completed later", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const { id, key } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  fixture.fake.reachable = false
  const refused = (error: Failure) => error.code === "engine_unreachable" && error.status === 503
  await assert.rejects(runs.stop(id, { by: "stopped_by_user" }), refused)
  await assert.rejects(runs.stop(id, { by: "stopped_by_admin" }), refused)
  assert.equal((await fixture.row(id)).state, "stopping")
  assert.deepEqual(fixture.containerKeys(), [key])
  fixture.fake.reachable = true
  await eventually("the run has ended", async () => (await fixture.row(id)).state === "ended")
  assert.deepEqual(fixture.containerKeys(), [])
  assert.equal((await fixture.row(id)).reason?.code, "stopped_by_user")
})

test("a container that does not stop is reported and retried, and only the first request is recorded", async () => {
  await using fixture = await RunsFixture.open({ settings: { graceMs: 50, timeoutsMs: { stopping: 50 } } })
  const recorded: string[] = []
  await using runs = await fixture.runs({ events: { requested: async (_, { verb }) => void recorded.push(verb) } })
  const { id, key } = await runs.start(fixture.request("fake/stuck-stop"))
  await runs.waitUntilSettled(id)
  const actor = { userName: "person0", address: "127.0.0.1", requestId: "r" }
  const isRefused = (error: Failure) => error.code === "timeout_stopping" && error.status === 503
  for (let i = 0; i < 3; i += 1) await assert.rejects(runs.stop(id, { by: "stopped_by_user", actor }), isRefused)
  assert.equal((await fixture.row(id)).state, "stopping")
  assert.deepEqual(recorded, ["stop"])
  const container = fixture.fake.containers.get(key)
  if (container) container.spec = { ...container.spec, image: "fake/http" }
  await eventually("the run has ended", async () => (await fixture.row(id)).state === "ended")
})

test("a queued run can be stopped without a reachable engine, and the queue waits until the engine is back", async () => {
  await using fixture = await RunsFixture.open({ cpus: 1 })
  await using runs = await fixture.runs()
  const first = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(first.id)
  const [second, third] = [
    await runs.start(fixture.request("fake/http", { person: 1 })),
    await runs.start(fixture.request("fake/http", { person: 2 })),
  ]
  fixture.fake.reachable = false
  const stopped = await runs.stop(second.id, { by: "stopped_by_user" })
  assert.deepEqual([stopped?.state, stopped?.reason?.code], ["ended", "stopped_by_user"])
  await assert.rejects(runs.stop(first.id, { by: "stopped_by_user" }))
  assert.equal((await fixture.row(third.id)).state, "queued")
  fixture.fake.reachable = true
  assert.equal((await runs.waitUntilSettled(third.id)).state, "ready")
})

test("runs that were starting when engine and process went down are resumed when the engine is back", async () => {
  await using fixture = await RunsFixture.open()
  const first = await fixture.runs()
  const { id } = await first.start(fixture.request("fake/slow:400"))
  await eventually("the run is starting", async () => (await fixture.row(id)).state === "starting")
  await first.close()
  fixture.fake.reachable = false
  const { engine, observations } = await fixture.observedEngine()
  await using second = await fixture.runs({ engine })
  await observations(3)
  assert.equal((await fixture.row(id)).state, "starting")
  fixture.fake.reachable = true
  assert.equal((await second.waitUntilSettled(id)).state, "ready")
})

test("a start waits for an engine that becomes unreachable while the program gets ready", async () => {
  await using fixture = await RunsFixture.open()
  const { engine, observations } = await fixture.observedEngine()
  await using runs = await fixture.runs({ engine })
  const { id, key } = await runs.start(fixture.request("fake/slow:500"))
  await eventually("the run is starting", async () => (await fixture.row(id)).state === "starting")
  fixture.fake.reachable = false
  await eventually("the program listens", () => fixture.fake.portOf(key) !== undefined)
  await observations(2)
  fixture.fake.reachable = true
  assert.equal((await runs.waitUntilSettled(id)).state, "ready")
  assert.deepEqual(fixture.statesOf(id), ["pulling", "creating", "starting", "ready"])
})

test("a run can be stopped although the engine never returns from its start", async () => {
  await using fixture = await RunsFixture.open({ settings: { timeoutsMs: { stopping: 100 } } })
  const engine = await fixture.engine()
  engine.start = () => new Promise(() => {})
  await using runs = await fixture.runs({ engine })
  const { id } = await runs.start(fixture.request("fake/http"))
  assert.equal((await runs.stop(id, { by: "stopped_by_user" }))?.state, "ended")
})

test("capacity freed without a reachable engine is allocated when the engine is back", async () => {
  await using fixture = await RunsFixture.open({ cpus: 1, settings: { timeoutsMs: { pulling: 300 } } })
  const { engine, observations } = await fixture.observedEngine()
  await using runs = await fixture.runs({ engine })
  const first = await runs.start(fixture.request("fake/stuck-pull"))
  const second = await runs.start(fixture.request("fake/http", { person: 1 }))
  fixture.fake.reachable = false
  assert.equal((await runs.waitUntilSettled(first.id)).reason?.code, "timeout_pulling")
  await observations(3)
  assert.equal((await fixture.row(second.id)).state, "queued")
  fixture.fake.reachable = true
  assert.equal((await runs.waitUntilSettled(second.id)).state, "ready")
})
