import assert from "node:assert/strict"
import { test } from "node:test"
import { EngineError } from "#engine"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"
import { SteppedClock } from "../testing/stepped-clock.ts"

const unknown = {
  key: "f".repeat(32),
  run: 99,
  project: 1,
  user: "nobody",
  image: "fake/http",
  command: [],
  env: {},
  port: 80,
  cpus: 1,
  memoryMiB: 64,
  gpus: ["mock-0"],
  nodes: 1,
  mounts: [],
  writableRoot: false,
}

test("an orphaned container keeps its devices and is stopped after the grace period", async () => {
  const clock = new SteppedClock()
  await using fixture = await RunsFixture.open({ clock, mockGpus: 1, settings: { orphanGraceMs: 60_000, graceMs: 10 } })
  await fixture.fake.run(fixture.fake.add("test", unknown))
  await using runs = await fixture.runs()
  await eventually("the orphan's device is reserved", async () => (await runs.nodeUsage())[0]?.gpus.free === 0)
  assert.deepEqual(fixture.containerKeys(), [unknown.key])
  const waiting = await runs.start(fixture.request("fake/http", { gpus: 1 }))
  assert.equal(waiting.state, "queued")
  // The device is reserved a little before the grace period begins.
  await eventually("the orphan is stopped", () => {
    clock.advance(60_000)
    return !fixture.containerKeys().includes(unknown.key)
  })
  assert.equal((await runs.waitUntilSettled(waiting.id)).state, "ready")
  assert.deepEqual(fixture.containerKeys(), [waiting.key])
})

test("a running orphan of a known person and project is adopted with its ID, key and devices", async () => {
  await using fixture = await RunsFixture.open({ mockGpus: 1 })
  const known = { ...unknown, user: "person1", cpus: 3, memoryMiB: 96 }
  await fixture.fake.run(fixture.fake.add("test", known))
  await using runs = await fixture.runs()
  await eventually("the run is ready", () => runs.target(known.run)?.address !== undefined)
  const run = await fixture.row(known.run)
  assert.deepEqual([run.state, run.key, run.userName, run.projectId], ["ready", known.key, "person1", 1])
  assert.deepEqual([run.cpus, run.memoryMiB, run.gpus, run.gpuDevices, run.spec.port], [3, 96, 1, ["mock-0"], 80])
  assert.equal((await runs.start(fixture.request("fake/http", { gpus: 1 }))).state, "queued")
  assert.ok((await runs.start(fixture.request("fake/http", { person: 2 }))).id > known.run, "no number is given twice")
  await runs.stop(known.run, { by: "stopped_by_user" })
  assert.ok(!fixture.containerKeys().includes(known.key))
})

test("an orphan is adopted later when the engine could not describe it at first", async () => {
  await using fixture = await RunsFixture.open()
  await fixture.fake.run(fixture.fake.add("test", { ...unknown, user: "person1", gpus: [] }))
  const engine = await fixture.engine()
  const recall = engine.recoverSpec.bind(engine)
  let requestCount = 0
  engine.recoverSpec = async (key, signal) => {
    requestCount += 1
    if (requestCount === 1) throw new EngineError("engine_unreachable", "The container engine cannot be reached")
    return recall(key, signal)
  }
  await using runs = await fixture.runs({ engine })
  await eventually("the container is adopted", () => runs.row(unknown.run)?.state === "ready")
})

test("an orphan whose ID, project or device another run holds is not adopted", async () => {
  await using fixture = await RunsFixture.open({ mockGpus: 1, settings: { orphanGraceMs: 300, graceMs: 10 } })
  await using runs = await fixture.runs()
  const held = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http", { gpus: 1 }))).id)
  const number = { ...unknown, user: "person1", gpus: [], run: held.id }
  const place = { ...unknown, user: "person0", gpus: [], key: "e".repeat(32) }
  const device = { ...unknown, user: "person2", key: "d".repeat(32), run: 77 }
  for (const spec of [number, place, device]) await fixture.fake.run(fixture.fake.add("test", spec))
  await eventually("all three are stopped", () => fixture.containerKeys().length === 1)
  assert.deepEqual(fixture.containerKeys(), [held.key])
  assert.deepEqual(
    (await fixture.store.runs.live()).map(({ id }) => id),
    [held.id],
  )
})

test("containers of another instance are not touched", async () => {
  await using fixture = await RunsFixture.open({ settings: { orphanGraceMs: 0 } })
  await fixture.fake.run(fixture.fake.add("somebody else", unknown))
  const { engine, observations } = await fixture.observedEngine()
  await using runs = await fixture.runs({ engine })
  await runs.waitUntilSettled((await runs.start(fixture.request("fake/http"))).id)
  await observations(3)
  assert.ok(fixture.containerKeys().includes(unknown.key))
})

test("a container left over from an ended run is stopped", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const { id, key } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  await runs.stop(id, { by: "stopped_by_user" })
  await fixture.fake.run(fixture.fake.add("test", { ...unknown, key, gpus: [] }))
  await eventually("the container is removed", () => fixture.containerKeys().length === 0)
  assert.equal((await fixture.row(id)).state, "ended")
})

test("an observation from before a run's end is not treated as a leftover", async () => {
  await using fixture = await RunsFixture.open()
  const engine = await fixture.engine()
  const [observe, stop] = [engine.observe.bind(engine), engine.stop.bind(engine)]
  const stopped: string[] = []
  engine.stop = (key, options) => {
    stopped.push(key)
    return stop(key, options)
  }
  let hold: Promise<void> | undefined
  let held = 0
  let looks = 0
  engine.observe = async (signal) => {
    const seen = await observe(signal)
    held += hold ? 1 : 0
    await hold
    looks += 1
    return seen
  }
  await using runs = await fixture.runs({ engine })
  const { id, key } = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http"))).id)
  const { promise, resolve } = Promise.withResolvers<void>()
  hold = promise
  await eventually("the engine has told", () => held === 1)
  const before = looks
  await runs.stop(id, { by: "stopped_by_user" })
  hold = undefined
  resolve()
  await eventually("two looks are over", () => looks >= before + 2)
  assert.deepEqual(stopped, [key])
})

test("a start whose engine hangs while it creates the container stays `stopping` until the engine answers", async () => {
  await using fixture = await RunsFixture.open()
  const engine = await fixture.engine()
  engine.start = async (spec, report) => {
    report({ state: "creating", progress: null })
    await fixture.fake.run(fixture.fake.add("test", spec))
    fixture.fake.reachable = false
    throw new EngineError("engine_unreachable", "The container engine cannot be reached")
  }
  await using runs = await fixture.runs({ engine })
  const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http"))).id)
  assert.deepEqual([run.state, run.reason?.code], ["stopping", "engine_unreachable"])
  fixture.fake.reachable = true
  await eventually("the run has ended", async () => (await fixture.row(run.id)).state === "failed")
  assert.deepEqual(fixture.containerKeys(), [])
})
