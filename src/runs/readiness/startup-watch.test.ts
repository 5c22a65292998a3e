import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually, fastSettings, RunsFixture } from "../testing/runs-fixture.ts"

const settings = { startupLookEveryMs: 50, timeoutsMs: { ...fastSettings.timeoutsMs, starting: 1_000 } }

test("a program that prints while it starts has longer than a silent one, and its last line is the progress", async () => {
  await using fixture = await RunsFixture.open({ settings })
  await using runs = await fixture.runs()
  const { id } = await runs.start(fixture.request("fake/slow-printing:4000"))
  await eventually("the progress is its last line", async () => /^loaded \d+$/.test(runs.progress(id)?.step ?? ""))
  const { unit, total } = runs.progress(id) ?? {}
  assert.deepEqual([unit, total], ["seconds", 1_800])
  assert.equal((await runs.waitUntilSettled(id)).state, "ready")
  assert.equal((await fixture.row(id)).progress, null)
})

test("a program that computes or moves data while it starts has longer than an idle one", async () => {
  await using fixture = await RunsFixture.open({ settings: { ...settings, sampleEveryMs: 100 } })
  await using runs = await fixture.runs()
  const silent = await runs.start(fixture.request("fake/slow:4000"))
  assert.equal((await runs.waitUntilSettled(silent.id)).reason?.code, "port_not_open")
  const computes = await runs.start(fixture.request("fake/slow-busy:4000"))
  assert.equal((await runs.waitUntilSettled(computes.id)).state, "ready")
})

test("a program that prints for longer than the setting fails", async () => {
  await using fixture = await RunsFixture.open({ settings: { ...settings, startMinutes: 2 / 60 } })
  await using runs = await fixture.runs()
  const { id } = await runs.start(fixture.request("fake/slow-printing:600000"))
  assert.equal((await runs.waitUntilSettled(id)).reason?.code, "port_not_open")
})

test("a project's StartMinutes replaces both the setting and the time for silent programs", async () => {
  await using fixture = await RunsFixture.open({ settings: { ...settings, startMinutes: 1 / 60 } })
  await using runs = await fixture.runs()
  const short = await runs.start(fixture.request("fake/slow-printing:600000", { plan: { startMinutes: 1 / 60 } }))
  assert.equal((await runs.waitUntilSettled(short.id)).reason?.code, "port_not_open")
  const patient = await runs.start(fixture.request("fake/slow:3000", { plan: { startMinutes: 1 } }))
  assert.equal((await runs.waitUntilSettled(patient.id)).state, "ready")
})

test("progress and reason of a program that answers 500 say so", async () => {
  await using fixture = await RunsFixture.open({ settings: { ...settings, startupHintAfterMs: 200 } })
  await using runs = await fixture.runs()
  const { id } = await runs.start(fixture.request("fake/unhealthy"))
  const fault = "GET / was answered with status 500; the type http expects status below 500"
  await eventually("the progress says it", async () => runs.progress(id)?.step === fault)
  const { reason } = await runs.waitUntilSettled(id)
  assert.deepEqual([reason?.code, reason?.msg], ["not_answering", `Port 8000 is open, but ${fault}`])
  assert.match(reason?.hint ?? "", /an error of its own/)
})

test("progress and reason of a program that listens nowhere say so, but its own last line comes first", async () => {
  await using fixture = await RunsFixture.open({ settings: { ...settings, startupHintAfterMs: 200 } })
  await using runs = await fixture.runs()
  const silent = await runs.start(fixture.request("fake/no-port"))
  await eventually("the progress is its line", async () => runs.progress(silent.id)?.step.includes("fake/no-port") ?? false)
  const { reason } = await runs.waitUntilSettled(silent.id)
  assert.equal(reason?.msg, "Nothing listens on the project's port, 8000: the program listens on no port")
})

for (const [image, port, fault, expected] of [
  ["fake/other-port:3000", 8888, "the program listens on port 3000", "; the project expects 8888"],
  ["fake/local-port", 8000, "the program listens on port 8000 of 127.0.0.1 only; it must listen on 0.0.0.0", ""],
] as const) {
  test(`progress and reason of ${image} say where the program listens`, async () => {
    await using fixture = await RunsFixture.open({ settings: { ...settings, startupHintAfterMs: 200 } })
    await using runs = await fixture.runs()
    const { id } = await runs.start(fixture.request(image, { plan: { port } }))
    await eventually("the progress says it", async () => runs.progress(id)?.step === fault + expected)
    const { reason } = await runs.waitUntilSettled(id)
    assert.deepEqual([reason?.code, reason?.msg], ["port_not_open", `Nothing listens on the project's port, ${port}: ${fault}`])
  })
}
