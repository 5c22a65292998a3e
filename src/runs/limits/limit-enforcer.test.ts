import assert from "node:assert/strict"
import { test } from "node:test"
import { unsetLimits } from "#contract"
import { uncountedBytes } from "#engine"
import type { Limits, RunRow } from "#store"
import type { Runs } from "../index.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"
import { SteppedClock } from "../testing/stepped-clock.ts"

const minute = 60_000

/** A fixture with a clock that the test advances, and the warnings that were sent. */
async function withLimits(limits: Partial<Limits>, layersEveryMs = 0) {
  const clock = new SteppedClock()
  const fixture = await RunsFixture.open({ clock, settings: { sampleEveryMs: 10, layersEveryMs, maxSamples: 1_000 } })
  const warnings: string[] = []
  const open = () => fixture.runs({ events: { warning: (_, text) => void warnings.push(text) } })
  await fixture.store.change((tx) => tx.users.update(fixture.users[0] ?? 0, { limits: { ...unsetLimits, ...limits } }))
  return {
    fixture,
    clock,
    warnings,
    open,
    /** Advances the clock, and waits until the run has been sampled twice since. */
    async pass(runs: Runs, id: number, ms: number): Promise<void> {
      // Use of processors and idle time are differences from a check before.
      const before = (await runs.usageSamples(id)).length
      await eventually("the run was checked", async () => (await runs.usageSamples(id)).length >= before + 3)
      clock.advance(ms)
      const samplesNow = async () => (await runs.usageSamples(id)).filter(({ time }) => time === clock.now()).length
      await eventually("the run was sampled", async () => (await samplesNow()) >= 3 || (await fixture.row(id)).state !== "ready")
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  }
}

async function ready(runs: Runs, request: Parameters<Runs["start"]>[0]): Promise<RunRow> {
  const run = await runs.waitUntilSettled((await runs.start(request)).id)
  assert.equal(run.state, "ready", JSON.stringify(run.reason))
  return run
}

const over = (fixture: RunsFixture, id: number) => eventually("the run has ended", async () => (await fixture.row(id)).state === "ended")

test("an unused run gets a warning and ends no sooner than the warning says", async () => {
  await using it = await withLimits({ IdleMinutes: 20 })
  await using runs = await it.open()
  const { id } = await ready(runs, it.fixture.request("fake/http"))
  await it.pass(runs, id, 9 * minute)
  assert.deepEqual(it.warnings, [])
  await it.pass(runs, id, 4 * minute)
  assert.equal(it.warnings.length, 1)
  assert.match(it.warnings[0] ?? "", /stopped at 2026-01-01T00:23:00/)
  await it.pass(runs, id, 9 * minute)
  assert.equal((await it.fixture.row(id)).state, "ready", "two minutes late, but the warning gave ten")
  it.clock.advance(minute)
  await over(it.fixture, id)
  assert.equal((await it.fixture.row(id)).reason?.code, "idle")
  assert.deepEqual(it.fixture.containerKeys(), [])
})

test("activity and a keep request restart a run's idle time", async () => {
  await using it = await withLimits({ IdleMinutes: 20 })
  await using runs = await it.open()
  const { id } = await ready(runs, it.fixture.request("fake/http"))
  await it.pass(runs, id, 11 * minute)
  assert.equal(it.warnings.length, 1)
  runs.markActive(id)
  await it.pass(runs, id, 9 * minute)
  assert.equal((await runs.keepAlive(id))?.lastActivity, it.clock.now())
  await it.pass(runs, id, 9 * minute)
  assert.equal(it.warnings.length, 1)
  await it.pass(runs, id, 2 * minute)
  assert.equal(it.warnings.length, 2)
})

test("a run that uses a processor or has a busy kernel is not idle", async () => {
  await using it = await withLimits({ IdleMinutes: 20 })
  await using runs = await it.open()
  const working = [it.fixture.request("fake/busy"), it.fixture.request("fake/computing", { person: 1, plan: { type: "jupyterlab" } })]
  await it.fixture.store.change((tx) => tx.users.update(it.fixture.users[1] ?? 0, { limits: { ...unsetLimits, IdleMinutes: 20 } }))
  for (const request of working) {
    const { id } = await ready(runs, request)
    for (let quarter = 0; quarter < 8; quarter += 1) await it.pass(runs, id, 17 * minute)
    assert.equal((await it.fixture.row(id)).state, "ready")
  }
  assert.deepEqual(it.warnings, [])
})

test("a run ends at its maximum time, which is known from the start and survives a restart", async () => {
  await using it = await withLimits({ MaxRunHours: 2 })
  const first = await it.open()
  const { id, startTime, expiresAt } = await ready(first, it.fixture.request("fake/busy"))
  assert.equal(expiresAt, (startTime ?? 0) + 120 * minute)
  await it.pass(first, id, 90 * minute)
  await first.close()
  await using second = await it.open()
  await it.pass(second, id, 20 * minute)
  assert.match(it.warnings.join(), /longest allowed time and is stopped at 2026-01-01T02:00:00/)
  assert.equal((await it.fixture.row(id)).state, "ready")
  it.clock.advance(10 * minute)
  await over(it.fixture, id)
  assert.equal((await it.fixture.row(id)).reason?.code, "max_time")
})

test("no run ends at its maximum time without a warning 10 minutes before, not after a restart or a jump of the system's time", async () => {
  await using it = await withLimits({ MaxRunHours: 2 })
  const first = await it.open()
  const { id } = await ready(first, it.fixture.request("fake/busy"))
  await first.close()
  it.clock.jump(200 * minute)
  await using second = await it.open()
  await it.pass(second, id, 0)
  assert.match(it.warnings.join(), /stopped at 2026-01-01T03:30:00/)
  await it.pass(second, id, 9 * minute)
  assert.equal((await it.fixture.row(id)).state, "ready")
  it.clock.advance(minute)
  await over(it.fixture, id)
  assert.equal((await it.fixture.row(id)).reason?.code, "max_time")
})

test("the run that wrote most gets a warning near a disk limit and ends beyond it", async () => {
  await using it = await withLimits({ MaxDisk: 120 })
  await using runs = await it.open()
  const { id } = await ready(runs, it.fixture.request("fake/writes:100"))
  await it.pass(runs, id, minute)
  assert.match(it.warnings.join(), /100 MiB were written.*of 120 MiB/)
  assert.equal((await runs.usageSamples(id)).at(-1)?.disk, 100 * 2 ** 20)
  const other = await ready(runs, it.fixture.request("fake/writes:60", { person: 1 }))
  await it.fixture.store.change(async (tx) => {
    const group = await tx.groups.insert({
      groupName: "lab",
      comment: "",
      limits: unsetLimits,
      totalLimits: { ...unsetLimits, MaxDisk: 159 },
    })
    await tx.groups.setMembers(group.id, it.fixture.users.slice(0, 2))
  })
  await over(it.fixture, id)
  const { reason } = await it.fixture.row(id)
  assert.equal(reason?.code, "disk_full")
  assert.match(reason?.msg ?? "", /160 MiB were written.*of 159 MiB/)
  await it.pass(runs, other.id, minute)
  assert.equal((await it.fixture.row(other.id)).state, "ready")
})

test("the engine enforces the lowest disk limit of the start, and a run that only this limit fills gets a warning", async () => {
  await using it = await withLimits({ MaxDisk: 120 })
  const { store, users, fake } = it.fixture
  const group = await store.change(async (tx) => {
    const created = await tx.groups.insert({
      groupName: "lab",
      comment: "",
      limits: unsetLimits,
      totalLimits: { ...unsetLimits, MaxDisk: 90 },
    })
    await tx.groups.setMembers(created.id, users.slice(0, 2))
    return created
  })
  await using runs = await it.open()
  const { id, key } = await ready(runs, it.fixture.request("fake/writes:80"))
  const other = await ready(runs, it.fixture.request("fake/http", { person: 2 }))
  assert.deepEqual(
    [key, other.key].map((each) => fake.containers.get(each)?.spec.diskMiB),
    [90, undefined],
  )
  await store.change((tx) => tx.groups.update(group.id, { totalLimits: unsetLimits }))
  const container = fake.containers.get(key)
  if (container) container.spec = { ...container.spec, image: "fake/writes:100" }
  await it.pass(runs, id, minute)
  await it.pass(runs, id, minute)
  const messages = it.warnings.filter((text) => text.includes("when it was started"))
  assert.equal(messages.length, 1)
  assert.match(messages[0] ?? "", /wrote 100 MiB .* more than the 90 MiB that were allowed/)
  assert.equal((await it.fixture.row(id)).state, "ready")
})

test("a filling disk triggers a measurement at once, and an already full disk triggers none", async () => {
  const gib = 2 ** 30
  await using it = await withLimits({ MaxDisk: 120 }, 60 * minute)
  it.fixture.fake.freeDisk = 50 * gib
  const engine = await it.fixture.engine()
  const layers = engine.writableLayers.bind(engine)
  let samplesNow = 0
  engine.writableLayers = (signal) => {
    samplesNow += 1
    return layers(signal)
  }
  await using runs = await it.fixture.runs({ engine })
  const { id, key } = await ready(runs, it.fixture.request("fake/writes:100"))
  await it.pass(runs, id, minute)
  assert.equal(samplesNow, 1)
  const container = it.fixture.fake.containers.get(key)
  if (container) container.spec = { ...container.spec, image: "fake/writes:200" }
  for (const free of [49.5, 60, 59.5, null, 59.5]) {
    it.fixture.fake.freeDisk = free && free * gib
    await it.pass(runs, id, minute)
  }
  assert.equal(samplesNow, 1, "a gibibyte less is free than there was since, and no sooner")
  assert.equal((await it.fixture.row(id)).state, "ready")
  it.fixture.fake.freeDisk = 59 * gib
  await over(it.fixture, id)
  assert.equal((await it.fixture.row(id)).reason?.code, "disk_full")
  const other = await ready(runs, it.fixture.request("fake/http"))
  await it.pass(runs, other.id, minute)
  assert.equal(samplesNow, 2)
})

test("files that cannot be counted in time are more than `MaxDisk` allows", async () => {
  await using it = await withLimits({ MaxDisk: 120 })
  const { fake } = it.fixture
  const engine = await it.fixture.engine()
  let bytes = 0
  engine.writableLayers = async () => new Map([...fake.containers.keys()].map((key) => [key, { bytes, maxMiB: 90 }]))
  await using runs = await it.fixture.runs({ engine })
  const { id } = await ready(runs, it.fixture.request("fake/http"))
  bytes = uncountedBytes
  await over(it.fixture, id)
  const { reason } = await it.fixture.row(id)
  assert.equal(reason?.code, "disk_full")
  assert.match(reason?.msg ?? "", /take too long to be counted, and 120 MiB are allowed/)
})

test("a live run's last samples of usage are in memory", async () => {
  await using it = await withLimits({})
  await using runs = await it.open()
  const { id } = await ready(runs, it.fixture.request("fake/busy", { cpus: 2, memoryMiB: 64 }))
  await it.pass(runs, id, minute)
  await it.pass(runs, id, minute)
  const known = (await runs.usageSamples(id)).filter(({ cpus }) => cpus !== null)
  assert.deepEqual(
    known.map(({ cpus, memory, memoryLimit, gpuMemory, disk }) => ({ cpus, memory, memoryLimit, gpuMemory, disk })),
    known.map(() => ({ cpus: 2, memory: 4 * 2 ** 20, memoryLimit: 64 * 2 ** 20, gpuMemory: null, disk: 0 })),
  )
  assert.ok(known.length >= 2)
  await runs.stop(id, { by: "stopped_by_user" })
  await eventually("the samples are deleted", async () => (await runs.usageSamples(id)).length === 0)
})
