import assert from "node:assert/strict"
import { get } from "node:http"
import { test } from "node:test"
import type { Failure } from "#contract"
import { AlreadyRunningError } from "./index.ts"
import { eventually, RunsFixture } from "./testing/runs-fixture.ts"

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, (response) => resolve(response.resume().statusCode)).on("error", reject)
  })
}

test("a run passes its states in order, and its address answers once it is ready", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const { id } = await runs.start(fixture.request("fake/http"))
  const run = await runs.waitUntilSettled(id)
  assert.equal(run.state, "ready")
  assert.deepEqual(fixture.statesOf(id), ["pulling", "creating", "starting", "ready"])
  const target = runs.target(id)
  assert.deepEqual(runs.targetByKey(run.key), target)
  assert.equal(await statusOf(`http://${target?.address?.host}:${target?.address?.port}/`), 200)
  assert.ok(run.readyTime !== null && run.startTime !== null && run.readyTime >= run.startTime)
  assert.match(run.imageDigest, /^sha256:/)
  assert.deepEqual(run.nodeNames, ["fake"])
})

test("the desired state is committed before the engine is called", async () => {
  await using fixture = await RunsFixture.open()
  let rowAtStart: unknown
  const engine = await fixture.engine()
  const start = engine.start.bind(engine)
  engine.start = async (spec, report, signal) => {
    rowAtStart = await fixture.store.runs.byKey(spec.key)
    return start(spec, report, signal)
  }
  await using runs = await fixture.runs({ engine })
  const { id } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  assert.ok(rowAtStart)
})

test("a stop resolves when the engine has no container left, and the first reason stays", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const { id } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  const [first] = await Promise.all([runs.stop(id, { by: "stopped_by_user" }), runs.stop(id, { by: "stopped_by_admin" })])
  assert.deepEqual(fixture.containerKeys(), [])
  assert.equal(first?.state, "ended")
  assert.equal(first?.reason?.code, "stopped_by_user")
  assert.ok(first?.endTime)
  assert.equal(runs.target(id), undefined)
  assert.equal((await runs.stop(id, { by: "stopped_by_admin" }))?.reason?.code, "stopped_by_user")
  assert.equal(await runs.stop(12_345, { by: "stopped_by_user" }), undefined)
})

test("a second start of the same person and project is rejected and names the run", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const first = await runs.start(fixture.request("fake/slow-pull:200"))
  const refused = await runs.start(fixture.request("fake/http")).catch((error: unknown) => error)
  assert.ok(refused instanceof AlreadyRunningError)
  assert.equal(refused.run.id, first.id)
  assert.deepEqual(refused.extra, { ID: first.id, State: refused.run.state })
  await runs.waitUntilSettled(first.id)
})

test("a repeated idempotency key returns the same run, and another body is a conflict", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const idempotency = { key: "k", bodyHash: "a" }
  const [one, two] = await Promise.all([1, 2].map(() => runs.start(fixture.request("fake/http"), { idempotency })))
  assert.equal(one?.id, two?.id)
  await runs.waitUntilSettled(one?.id ?? 0)
  assert.equal((await runs.start(fixture.request("fake/http"), { idempotency })).state, "ready")
  const conflict = runs.start(fixture.request("fake/http"), { idempotency: { key: "k", bodyHash: "b" } })
  await assert.rejects(conflict, (error: Failure) => error.code === "conflict")
})

test("a refusal passed by the caller makes a failed run with that reason", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const refusal = { code: "image_unavailable", msg: "The image was deleted" } as const
  const run = await runs.start(fixture.request("fake/http", { refusal }))
  assert.equal(run.state, "failed")
  assert.deepEqual(run.reason, refusal)
  assert.ok(run.endTime)
  assert.deepEqual(fixture.containerKeys(), [])
})

test("closing stops no run, and the next process knows its address again", async () => {
  await using fixture = await RunsFixture.open()
  const first = await fixture.runs()
  const { id, key } = await first.start(fixture.request("fake/http"))
  await first.waitUntilSettled(id)
  await first.close()
  assert.deepEqual(fixture.containerKeys(), [key])
  await using second = await fixture.runs()
  await eventually("the address is known again", () => second.target(id)?.address !== undefined)
  assert.equal((await fixture.row(id)).state, "ready")
})

test("activity is in memory at once and written a little later", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const { id } = await runs.start(fixture.request("fake/http"))
  const ready = await runs.waitUntilSettled(id)
  await eventually("time has passed", () => Date.now() > (ready.lastActivity ?? 0))
  runs.markActive(id)
  const marked = runs.lastActivity(id)
  assert.ok(marked !== undefined && marked > (ready.lastActivity ?? 0))
  await eventually("the mark is written", async () => (await fixture.row(id)).lastActivity === marked)
})
