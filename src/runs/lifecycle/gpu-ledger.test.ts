import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import type { Engine } from "#engine"
import type { RunRow } from "#store"
import type { Runs } from "../index.ts"
import { CrashableProcess } from "../testing/crashable-process.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"

/** Fails the test if two containers ever have the same device. */
function watchDevices(t: TestContext, { fake }: RunsFixture): void {
  const twice: string[] = []
  fake.events.on("changed", () => {
    const devices = [...fake.containers.values()].flatMap(({ state, spec }) => (state === "exited" ? [] : spec.gpus))
    if (new Set(devices).size < devices.length) twice.push(devices.join())
  })
  t.after(() => assert.deepEqual(twice, []))
}

/**
 * A run with a device, whose container remains after the process ended, with a row changed by
 * `edit`.
 */
async function leftContainer(fixture: RunsFixture, edit: (run: RunRow) => Partial<RunRow>): Promise<RunRow> {
  await using runs = await fixture.runs()
  const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http", { gpus: 1 }))).id)
  assert.deepEqual(run.gpuDevices, ["mock-0"])
  await runs.close()
  await fixture.store.change((tx) => tx.runs.transition(run.id, ["ready"], edit(run)))
  assert.deepEqual(fixture.containerKeys(), [run.key])
  return fixture.row(run.id)
}

const ended = (): Partial<RunRow> => ({ state: "ended", wanted: "stop", endTime: Date.now() })

/** An engine whose observations, or stops, wait for `release`. */
async function heldEngine(fixture: RunsFixture, held: "observe" | "stop"): Promise<{ engine: Engine; release(): void }> {
  const engine = await fixture.engine()
  const { promise, resolve } = Promise.withResolvers<void>()
  const real = { observe: engine.observe.bind(engine), stop: engine.stop.bind(engine) }
  if (held === "observe") engine.observe = (signal) => promise.then(() => real.observe(signal))
  else engine.stop = (key, options) => promise.then(() => real.stop(key, options))
  return { engine, release: resolve }
}

const startOne = (runs: Runs, fixture: RunsFixture, person = 1) => runs.start(fixture.request("fake/http", { gpus: 1, person }))

test("a device is given after its container is gone, not when its run has ended according to the database", async (t) => {
  await using fixture = await RunsFixture.open({ mockGpus: 1 })
  watchDevices(t, fixture)
  const left = await leftContainer(fixture, ended)
  const { engine, release } = await heldEngine(fixture, "stop")
  await using runs = await fixture.runs({ engine })
  await eventually("the device is reserved", async () => (await runs.nodeUsage())[0]?.gpus.free === 0)
  const waiting = await startOne(runs, fixture)
  assert.equal(waiting.state, "queued")
  assert.deepEqual(fixture.containerKeys(), [left.key])
  release()
  const run = await runs.waitUntilSettled(waiting.id)
  assert.deepEqual([run.state, run.gpuDevices, fixture.containerKeys()], ["ready", ["mock-0"], [run.key]])
})

test("a start after a restart waits until the engine was asked which devices are in use", async (t) => {
  await using fixture = await RunsFixture.open({ mockGpus: 1 })
  watchDevices(t, fixture)
  await leftContainer(fixture, ended)
  const { engine, release } = await heldEngine(fixture, "observe")
  await using runs = await fixture.runs({ engine })
  const waiting = await startOne(runs, fixture)
  assert.equal(waiting.state, "queued")
  assert.equal((await runs.start(fixture.request("fake/http", { person: 2 }))).state, "pulling", "runs without a GPU start at once")
  release()
  assert.equal((await runs.waitUntilSettled(waiting.id)).state, "ready")
})

test("a run that a restored database queues loses its container, and its device is given once", async (t) => {
  await using fixture = await RunsFixture.open({ mockGpus: 1 })
  watchDevices(t, fixture)
  const queued = await leftContainer(fixture, () => ({ state: "queued", gpuDevices: [], nodeNames: [], startTime: null, readyTime: null }))
  await using runs = await fixture.runs()
  const other = await startOne(runs, fixture)
  assert.equal(other.state, "queued")
  const first = await runs.waitUntilSettled(queued.id, { queuedMs: 30_000 })
  assert.deepEqual([first.state, first.gpuDevices], ["ready", ["mock-0"]])
  assert.equal((await fixture.row(other.id)).state, "queued")
})

test("a run that a restored database queues frees no device by its end in the queue", async (t) => {
  await using fixture = await RunsFixture.open({ mockGpus: 1 })
  watchDevices(t, fixture)
  const queued = await leftContainer(fixture, () => ({ state: "queued", gpuDevices: [], nodeNames: [], startTime: null, readyTime: null }))
  const { engine, release } = await heldEngine(fixture, "stop")
  const { stop } = engine
  const stops: string[] = []
  engine.stop = (key, options) => {
    stops.push(key)
    return stop(key, options)
  }
  await using runs = await fixture.runs({ engine })
  await eventually("its container was seen", () => stops.includes(queued.key))
  await runs.stop(queued.id, { by: "stopped_by_user" })
  const waiting = await startOne(runs, fixture)
  release()
  assert.equal(waiting.state, "queued")
  assert.equal((await runs.waitUntilSettled(waiting.id)).state, "ready")
})

test("a run whose container has other devices than its row gets a new container", async (t) => {
  await using fixture = await RunsFixture.open({ mockGpus: 2 })
  watchDevices(t, fixture)
  const run = await leftContainer(fixture, () => ({ state: "starting", gpuDevices: ["mock-1"], readyTime: null }))
  await using runs = await fixture.runs()
  assert.equal((await runs.waitUntilSettled(run.id)).state, "ready")
  assert.deepEqual(fixture.fake.containers.get(run.key)?.spec.gpus, ["mock-1"])
  assert.deepEqual((await runs.waitUntilSettled((await startOne(runs, fixture)).id)).gpuDevices, ["mock-0"])
})

test("a crash at every third step gives no device twice, and the next process gives it again", async (t) => {
  await using fixture = await RunsFixture.open({ mockGpus: 1, settings: { graceMs: 10 } })
  watchDevices(t, fixture)
  let step = 1
  for (let isCrashed = true; isCrashed; step += 3) {
    const crashable = new CrashableProcess(step)
    const engine = await fixture.engine(crashable.fake(fixture.fake))
    const opening = fixture.runs({ store: crashable.store(fixture.store), engine })
    const work = opening.then(async (runs) => {
      const first = await startOne(runs, fixture)
      const second = await startOne(runs, fixture, 2)
      await runs.waitUntilSettled(first.id)
      await runs.stop(first.id, { by: "stopped_by_user" })
      await runs.waitUntilSettled(second.id, { queuedMs: 30_000 })
    })
    await Promise.race([crashable.crashed.promise, work])
    isCrashed = crashable.isCrashed
    if (!isCrashed) await (await opening).close()
    await using next = await fixture.runs()
    const settled = async () => (await fixture.store.runs.live()).filter(({ state }) => state === "ready").length
    const live = (await fixture.store.runs.live()).length
    if (live > 0) await eventually(`a run holds the device after a crash at step ${step}`, async () => (await settled()) === 1)
    for (const { id } of await fixture.store.runs.live()) await next.stop(id, { by: "stopped_by_user" })
    assert.deepEqual(fixture.containerKeys(), [])
  }
  assert.ok(step > 20, `only ${step} steps`)
})
