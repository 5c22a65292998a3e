import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"

test("of 100 concurrent starts with capacity for 10, exactly 10 start and the rest queue in order", async () => {
  await using fixture = await RunsFixture.open({ people: 100, cpus: 1_000, mockGpus: 10 })
  await using runs = await fixture.runs()
  await eventually("the engine was observed", async () => (await runs.nodeUsage())[0]?.gpus.free === 10)
  const started = await Promise.all(
    Array.from({ length: 100 }, (_, person) => runs.start(fixture.request("fake/http", { person, gpus: 1 }))),
  )
  const held = started.filter(({ state }) => state !== "queued")
  assert.equal(held.length, 10)
  assert.equal(new Set(held.flatMap(({ gpuDevices }) => gpuDevices)).size, 10)
  const positions = started
    .filter(({ state }) => state === "queued")
    .sort((a, b) => a.id - b.id)
    .map(({ id }) => runs.queuePosition(id))
  assert.deepEqual(
    positions,
    positions.map((_, n) => n + 1),
  )
  const [node] = await runs.nodeUsage()
  assert.deepEqual(node?.gpus, { total: 10, free: 0 })
  assert.equal(new Set(node?.devices.map(({ runId }) => runId)).size, 10)
})

test("devices are never allocated twice while runs start and stop", async () => {
  await using fixture = await RunsFixture.open({ people: 30, mockGpus: 4 })
  let most = 0
  await using runs = await fixture.runs({
    events: {
      stateChanged: async (tx) => {
        const devices = (await tx.runs.live()).flatMap(({ gpuDevices }) => gpuDevices)
        assert.equal(new Set(devices).size, devices.length)
        most = Math.max(most, devices.length)
      },
    },
  })
  const live = async (person: number) => {
    const { id } = await runs.start(fixture.request("fake/http", { person, gpus: 1 + (person % 3) }))
    assert.equal((await runs.waitUntilSettled(id)).state, "ready")
    await runs.stop(id, { by: "stopped_by_user" })
  }
  await Promise.all(fixture.users.map((_, person) => live(person)))
  assert.equal(most, 4)
  assert.deepEqual(fixture.containerKeys(), [])
})

test("two concurrent starts of one person and project make one run", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => runs.start(fixture.request("fake/http"))))
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1)
  assert.equal((await fixture.store.runs.live()).length, 1)
})

for (const image of ["fake/stuck-pull", "fake/stuck-create", "fake/stuck-start", "fake/no-port", "fake/silent", "fake/slow-pull:300"]) {
  test(`a stop aborts the start of ${image} at once`, async () => {
    await using fixture = await RunsFixture.open({ settings: { timeoutsMs: { pulling: 60_000, creating: 60_000, starting: 60_000 } } })
    await using runs = await fixture.runs()
    const { id } = await runs.start(fixture.request(image))
    const settled = runs.waitUntilSettled(id)
    await eventually("the start is in progress", () => runs.progress(id) !== null || fixture.containerKeys().length > 0)
    const run = await runs.stop(id, { by: "stopped_by_user" })
    assert.deepEqual([run?.state, run?.reason?.code], ["ended", "stopped_by_user"])
    assert.deepEqual(fixture.containerKeys(), [])
    assert.equal((await settled).state, "ended")
  })
}

test("a stop at any moment of a start leaves nothing behind", async () => {
  await using fixture = await RunsFixture.open({ people: 40 })
  await using runs = await fixture.runs()
  const one = async (person: number) => {
    const { id } = await runs.start(fixture.request(person % 2 ? "fake/slow:20" : "fake/slow-pull:30", { person }))
    for (let turn = 0; turn < person * 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    const run = await runs.stop(id, { by: "stopped_by_user" })
    assert.equal(run?.state, "ended")
    assert.equal(run?.reason?.code, "stopped_by_user")
  }
  await Promise.all(fixture.users.map((_, person) => one(person)))
  assert.deepEqual(fixture.containerKeys(), [])
  assert.deepEqual(await fixture.store.runs.live(), [])
})

test("a start fails when its person is disabled or deleted during admission", async () => {
  await using fixture = await RunsFixture.open({ people: 2 })
  await using runs = await fixture.runs()
  const [disabled = 0, deleted = 0] = fixture.users
  await fixture.store.change((tx) => tx.users.update(disabled, { isDisabled: true }))
  await fixture.store.change((tx) => tx.users.setDeleted(deleted, true))
  for (const person of [0, 1]) {
    await assert.rejects(runs.start(fixture.request("fake/http", { person })), { code: "forbidden", message: /was disabled or deleted/ })
  }
  assert.deepEqual(await fixture.store.runs.live(), [])
})
