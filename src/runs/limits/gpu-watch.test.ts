import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"
import { SteppedClock } from "../testing/stepped-clock.ts"

test("a device that falls off while a run uses it warns the run once, is not given, and comes back", async () => {
  const clock = new SteppedClock()
  await using fixture = await RunsFixture.open({ mockGpus: 1, clock })
  const warnings: [number, string][] = []
  await using runs = await fixture.runs({ events: { warning: (run, text) => warnings.push([run.id, text]) } })
  const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http", { gpus: 1 }))).id)
  assert.deepEqual([run.state, warnings], ["ready", []])

  fixture.fake.gpuFaults.set("mock-0", "it has fallen off the bus")
  clock.advance(10_000)
  await eventually("the run is warned", () => warnings.length > 0)
  const advice = "Programs that use it fail. Save your work, stop the run and start the project again to get another GPU"
  assert.deepEqual(warnings, [
    [run.id, `The GPU mock-0 (Mock GPU) of this run cannot be used any more: it has fallen off the bus. ${advice}`],
  ])
  assert.equal((await fixture.row(run.id)).state, "ready", "the run continues")
  const [node] = await runs.nodeUsage()
  assert.deepEqual([node?.gpus, node?.devices], [{ total: 0, free: 0 }, []])
  const refused = await runs.start(fixture.request("fake/http", { gpus: 1, person: 1 }))
  assert.deepEqual(
    [refused.state, refused.reason?.code, refused.reason?.msg],
    ["failed", "insufficient_gpu", "No node has 1 GPU; the largest has 0; out of order at the moment: 1"],
  )
  await runs.stop(run.id, { by: "stopped_by_user" })

  fixture.fake.gpuFaults.clear()
  clock.advance(10_000)
  await eventually("the device is free again", async () => (await runs.nodeUsage())[0]?.gpus.free === 1)
  const repeated = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http", { gpus: 1, person: 1 }))).id)
  assert.deepEqual([repeated.state, repeated.gpuDevices], ["ready", ["mock-0"]])
  assert.equal(warnings.length, 1)
})

test("a run is told when its device works again, and warned again when it fails again", async () => {
  const clock = new SteppedClock()
  await using fixture = await RunsFixture.open({ mockGpus: 2, clock })
  const warnings: string[] = []
  await using runs = await fixture.runs({ events: { warning: (_, text) => warnings.push(text.split(":")[0] ?? "") } })
  await runs.waitUntilSettled((await runs.start(fixture.request("fake/http", { gpus: 2 }))).id)
  const broken = "The GPU mock-1 (Mock GPU) of this run cannot be used any more"
  const expected: string[] = []
  for (const text of [broken, "The GPU mock-1 (Mock GPU) can be used again. Restart the programs that used it", broken]) {
    if (text === broken) fixture.fake.gpuFaults.set("mock-1", "it needs a reset")
    else fixture.fake.gpuFaults.clear()
    clock.advance(10_000)
    expected.push(text)
    await eventually(`"${text}"`, () => warnings.length === expected.length)
  }
  assert.deepEqual(warnings, expected)
})

test("a queued run waits for a device with a fault and gets it once it works", async () => {
  const clock = new SteppedClock()
  await using fixture = await RunsFixture.open({ mockGpus: 1, clock })
  await using runs = await fixture.runs()
  const holder = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http", { gpus: 1 }))).id)
  const waiting = await runs.start(fixture.request("fake/http", { gpus: 1, person: 1 }))
  fixture.fake.gpuFaults.set("mock-0", "it needs a reset")
  clock.advance(10_000)
  await eventually("the fault is known", async () => (await runs.nodeUsage())[0]?.gpus.total === 0)
  await runs.stop(holder.id, { by: "stopped_by_user" })
  assert.equal((await runs.waitUntilSettled(waiting.id, { queuedMs: 300 })).state, "queued")
  fixture.fake.gpuFaults.clear()
  clock.advance(10_000)
  assert.equal((await runs.waitUntilSettled(waiting.id, { queuedMs: 30_000 })).state, "ready")
})
