import assert from "node:assert/strict"
import { describe, test } from "node:test"
import type { ReasonCode } from "#contract"
import { systemClock } from "#kit"
import { eventually, fastSettings, RunsFixture } from "../testing/runs-fixture.ts"
import { withLogTail } from "./reasons.ts"

/** Short deadlines for outcomes that a deadline causes. Other outcomes may take any time. */
const deadlines: Partial<Record<ReasonCode, object>> = {
  timeout_pulling: { pulling: 300 },
  timeout_creating: { creating: 300 },
  timeout_starting: { starting: 800 },
  port_not_open: { starting: 1_500 },
  not_answering: { starting: 1_500 },
}

/** The expected outcome of each fake image. */
const outcomes: [image: string, code: ReasonCode, msg: RegExp][] = [
  ["fake/missing", "image_not_found", /has the image/],
  ["fake/denied", "image_pull_denied", /refused/],
  ["fake/broken", "image_pull_failed", /could not be fetched/],
  ["fake/stuck-pull", "timeout_pulling", /stopped arriving/],
  ["fake/stuck-create", "timeout_creating", /not made in time/],
  ["fake/stuck-start", "timeout_starting", /did not get ready/],
  ["fake/no-command", "command_not_found", /does not exist/],
  ["fake/disk-full", "disk_full", /full/],
  ["fake/engine-error", "engine_error", /refused/],
  [
    "fake/no-port",
    "port_not_open",
    /^Nothing listens on the project's port, 8000: a program that listens on 127.0.0.1 alone is not reached$/,
  ],
  ["fake/silent", "not_answering", /GET \/ was not answered/],
  ["fake/unhealthy", "not_answering", /status 500/],
  ["fake/exits:7", "exited", /exit code 7/],
  ["fake/oom", "oom_killed", /more memory/],
]

describe("An impossible start ends as failed", { concurrency: 8 }, () => {
  for (const [image, code, msg] of outcomes) {
    test(`with ${code} for ${image}, and the engine holds nothing`, async () => {
      await using fixture = await RunsFixture.open({ settings: { timeoutsMs: { ...fastSettings.timeoutsMs, ...deadlines[code] } } })
      await using runs = await fixture.runs()
      const { id } = await runs.start(fixture.request(image))
      const run = await runs.waitUntilSettled(id)
      assert.equal(run.state, "failed")
      assert.equal(run.reason?.code, code)
      assert.match(run.reason?.msg ?? "", msg)
      assert.deepEqual(fixture.containerKeys(), [])
      assert.equal(run.wanted, "stop")
      assert.ok(run.endTime)
      assert.deepEqual((await fixture.row(id)).reason, run.reason)
    })
  }
})

test("a creation that a deadline cancels is stopped in the engine, which may have kept the container", async () => {
  await using fixture = await RunsFixture.open({ settings: { timeoutsMs: { ...fastSettings.timeoutsMs, creating: 300 } } })
  await using runs = await fixture.runs()
  const { id } = await runs.start(fixture.request("fake/stuck-create"))
  assert.equal((await runs.waitUntilSettled(id)).reason?.code, "timeout_creating")
  assert.deepEqual(fixture.statesOf(id).slice(-2), ["stopping", "failed"])
})

test("a program that exits before it is ready leaves its exit code and its last lines", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/exits:7"))).id)
  assert.equal(run.reason?.exitCode, 7)
  assert.match(run.reason?.logTail ?? "", /fake\/exits started/)
  assert.deepEqual(fixture.statesOf(run.id).slice(-2), ["stopping", "failed"])
})

test("a ready program that exits ends the run with its exit code and its last 50 lines", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const { id, key } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  const container = fixture.fake.containers.get(key)
  assert.ok(container)
  for (let n = 0; n < 300; n += 1) fixture.fake.log(container, "stdout", `line ${n} ${"é".repeat(30)}`)
  await fixture.fake.exit(key, 3)
  await eventually("the run has ended", async () => (await fixture.row(id)).state === "ended")
  const { reason } = await fixture.row(id)
  assert.equal(reason?.code, "exited")
  assert.equal(reason?.exitCode, 3)
  assert.match(reason?.logTail ?? "", /^line 250 é+\n(line \d+ é+\n){48}line 299 é+$/)
  assert.deepEqual(fixture.containerKeys(), [])
})

test("long last lines are cut at the start of a line, at most 16 KiB", async () => {
  const line = (n: number) => `${n} ${"é".repeat(500)}`
  const engine = {
    async *logs() {
      for (let n = 0; n < 50; n += 1) yield { time: 0, stream: "stdout" as const, text: line(n) }
    },
  }
  const { logTail } = await withLogTail({ engine, clock: systemClock }, "", { code: "exited", msg: "" })
  assert.equal(logTail, Array.from({ length: 16 }, (_, n) => line(34 + n)).join("\n"))
})

for (const [exitCode, msg] of [
  [0, /with exit code 0, as a program does whose work is done$/],
  [126, /with exit code 126: a program that it started is not executable$/],
  [127, /with exit code 127: a program that it started was not found$/],
  [139, /with exit code 139 \(SIGSEGV\)$/],
] as const) {
  test(`exit code ${exitCode} is explained`, async () => {
    await using fixture = await RunsFixture.open()
    await using runs = await fixture.runs()
    const { id } = await runs.start(fixture.request(`fake/exits:${exitCode}`))
    const { reason } = await runs.waitUntilSettled(id)
    assert.deepEqual([reason?.code, reason?.exitCode], ["exited", exitCode])
    assert.match(reason?.msg ?? "", msg)
  })
}

test("an exit that the engine reports only after the deadline is the reason, not the deadline", async () => {
  await using fixture = await RunsFixture.open({
    settings: { observeEveryMs: 60_000, timeoutsMs: { ...fastSettings.timeoutsMs, starting: 800 } },
  })
  const engine = await fixture.engine()
  engine.watch = (_changed, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve()))
  // Each attempt that finds no address asks for an observation.
  engine.address = async () => ({ host: "127.0.0.1", port: 1 })
  await using runs = await fixture.runs({ engine })
  const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/exits:7"))).id)
  assert.deepEqual([run.reason?.code, run.reason?.exitCode], ["exited", 7])
})

test("an out-of-memory kill is recognized by the engine's flag, whatever the exit code", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const { id, key } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  await fixture.fake.exit(key, 0, true)
  await eventually("the run has ended", async () => (await fixture.row(id)).state === "ended")
  const { reason } = await fixture.row(id)
  assert.equal(reason?.code, "oom_killed")
  assert.equal(reason?.exitCode, 0)
})

test("a child process killed for memory causes a warning, and the run continues", async () => {
  await using fixture = await RunsFixture.open()
  const warnings: string[] = []
  await using runs = await fixture.runs({ events: { warning: (_, text) => warnings.push(text) } })
  const { id, key } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  const container = fixture.fake.containers.get(key)
  if (container) container.oomKilled = true
  await eventually("the warning came", () => warnings.length === 1)
  assert.equal((await fixture.row(id)).state, "ready")
})

test("a container removed behind Quayside's back makes the run `lost`", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const { id, key } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  await fixture.fake.remove(key)
  await eventually("the run has ended", async () => (await fixture.row(id)).state === "ended")
  assert.equal((await fixture.row(id)).reason?.code, "lost")
})

test("a container removed before it is ready makes the run `failed` with `lost`", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const { id, key } = await runs.start(fixture.request("fake/no-port"))
  await eventually("the run is starting", async () => (await fixture.row(id)).state === "starting")
  await eventually("it is watched", () => fixture.fake.containers.get(key)?.state === "running")
  await fixture.fake.remove(key)
  const run = await runs.waitUntilSettled(id)
  assert.deepEqual([run.state, run.reason?.code], ["failed", "lost"])
})

test("more than one node is rejected when the engine has one", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const run = await runs.start(fixture.request("fake/http", { nodes: 2 }))
  assert.deepEqual([run.state, run.reason?.code], ["failed", "nodes_unsupported"])
})

test("a missing mount is named in the reason", async () => {
  await using fixture = await RunsFixture.open()
  const engine = await fixture.engine()
  const { createEngine } = await import("#engine")
  const withRoot = await createEngine({ kind: "fake", daemon: fixture.fake, instance: "test", filesRoot: "/nonexistent" })
  await engine[Symbol.asyncDispose]()
  await using runs = await fixture.runs({ engine: withRoot })
  const mounts = [{ source: "/users/ann/data", target: "/work/data", readOnly: true }]
  const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http", { plan: { mounts } }))).id)
  assert.equal(run.reason?.code, "mount_missing")
  assert.match(run.reason?.msg ?? "", /\/users\/ann\/data/)
})

test("a run that waits too long for capacity fails with `timeout_queued`", async () => {
  await using fixture = await RunsFixture.open({ cpus: 1, settings: { timeoutsMs: { queued: 200 } } })
  await using runs = await fixture.runs()
  const first = await runs.start(fixture.request("fake/http"))
  const second = await runs.start(fixture.request("fake/http", { person: 1 }))
  assert.equal(second.state, "queued")
  const run = await runs.waitUntilSettled(second.id)
  assert.deepEqual([run.state, run.reason?.code], ["failed", "timeout_queued"])
  await runs.waitUntilSettled(first.id)
})
