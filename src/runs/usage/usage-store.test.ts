import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { test } from "node:test"
import { unlimited } from "#contract"
import { silentLogger } from "#kit"
import type { RunRow } from "#store"
import type { RunSettingsOptions, Runs, UsageRange } from "../index.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"
import { SteppedClock } from "../testing/stepped-clock.ts"
import { UsageStore } from "./usage-store.ts"

const minute = 60_000
const start = Date.UTC(2026, 0, 1)
const all: UsageRange = { from: 0, to: start + 30 * 24 * 60 * minute, stepMs: 10_000 }
const key = (n: number) => n.toString(16).padStart(32, "0")

async function temporary(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), "quayside-usage-"))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Runs whose usage is stored, with a clock that the test advances. */
async function withUsage(given: RunSettingsOptions = {}) {
  const directory = await temporary()
  const clock = new SteppedClock(start)
  const usageDir = join(directory.path, "usage")
  const fixture = await RunsFixture.open({ clock, settings: { sampleEveryMs: 10, usageDir, ...given } })
  const series = async (runs: Runs, run: RunRow) => {
    const { points, marks } = await runs.usage(run, all)
    return {
      times: points.map(({ time }) => (time - start) / 1_000),
      marks: marks.map(({ time, kind, text }) => [(time - start) / 1_000, kind, text] as const),
    }
  }
  return {
    fixture,
    clock,
    usageDir,
    series,
    /** Waits until the run has a point of this moment. */
    sampled: (runs: Runs, run: RunRow) => {
      const now = Math.floor((clock.now() - start) / 10_000) * 10
      return eventually("the run is sampled", async () => (await series(runs, run)).times.includes(now))
    },
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]()
      await directory[Symbol.asyncDispose]()
    },
  }
}

async function ready(runs: Runs, request: Parameters<Runs["start"]>[0]): Promise<RunRow> {
  const run = await runs.waitUntilSettled((await runs.start(request)).id)
  assert.equal(run.state, "ready", JSON.stringify(run.reason))
  return run
}

test("a run's usage and marks survive a restart, and the end of the run, which is a mark", async () => {
  await using it = await withUsage()
  const first = await it.fixture.runs()
  const run = await ready(first, it.fixture.request("fake/busy", { memoryMiB: 64 }))
  await it.sampled(first, run)
  await first.close()
  it.clock.advance(5 * minute)
  await using second = await it.fixture.runs()
  await it.sampled(second, run)
  it.clock.advance(minute)
  await it.sampled(second, run)
  const restart = "Quayside was started again; it has no figures of the time between"
  assert.deepEqual(await it.series(second, run), { times: [0, 300, 360], marks: [[300, "restart", restart]] })
  await second.stop(run.id, { by: "stopped_by_user" })
  const ended = await it.fixture.row(run.id)
  const after = await it.series(second, ended)
  assert.deepEqual(
    [after.times, after.marks.at(-1)],
    [
      [0, 300, 360],
      [360, "exit", ended.reason?.msg],
    ],
  )
  assert.equal((await stat(it.usageDir)).mode & 0o777, 0o700)
  assert.equal((await stat(join(it.usageDir, `person-${run.userId}`, `${run.key}.usage`))).mode & 0o777, 0o600)
})

test("warnings, memory that ran out and a restart of the container are marks", async () => {
  await using it = await withUsage()
  await it.fixture.store.change((tx) =>
    tx.users.update(it.fixture.users[0] ?? 0, {
      limits: { ...unlimited, IdleMinutes: 20 },
    }),
  )
  const { engine, observations } = await it.fixture.observedEngine()
  await using runs = await it.fixture.runs({ engine })
  const run = await ready(runs, it.fixture.request("fake/http"))
  // A restart shows by a time that differs from the first observation's.
  await observations(2)
  const container = it.fixture.fake.containers.get(run.key)
  assert.ok(container)
  const kinds = async () => (await it.series(runs, run)).marks.map(([, kind]) => kind)
  await it.sampled(runs, run)
  container.oomKilled = true
  await eventually("memory is marked", async () => (await kinds()).includes("out_of_memory"))
  container.startedAt = (container.startedAt ?? 0) + 1
  await eventually("the restart is marked", async () => (await kinds()).includes("restart"))
  it.clock.advance(11 * minute)
  await eventually("the warning is marked", async () => (await kinds()).includes("warning"))
  const { marks } = await it.series(runs, run)
  assert.deepEqual(
    marks.map(([time, kind]) => [time, kind]),
    [
      [0, "out_of_memory"],
      [0, "restart"],
      [660, "warning"],
    ],
  )
  assert.match(marks[2]?.[2] ?? "", /^Nobody uses the run/)
})

test("a run that was killed for memory ends with that mark", async () => {
  await using it = await withUsage()
  await using runs = await it.fixture.runs()
  const run = await runs.waitUntilSettled((await runs.start(it.fixture.request("fake/oom"))).id)
  assert.deepEqual((await it.series(runs, run)).marks, [[0, "out_of_memory", run.reason?.msg]])
})

test("usage is removed with the run's row, and by age if a crash left it", async () => {
  await using it = await withUsage({ maxEndedRuns: 1, historyEveryMs: 20, maxEndedDays: 400 })
  await using runs = await it.fixture.runs()
  const own = join(it.usageDir, `person-${it.fixture.users[0]}`)
  const started: RunRow[] = []
  for (let n = 0; n < 2; n += 1) {
    const run = await ready(runs, it.fixture.request("fake/http"))
    started.push(run)
    await it.sampled(runs, run)
    it.clock.advance(minute)
    await runs.stop(run.id, { by: "stopped_by_user" })
  }
  await eventually("the older row is gone", async () => (await it.fixture.store.runs.get(started[0]?.id ?? 0)) === undefined)
  await eventually("its usage is gone", async () => (await readdir(own)).length === 1)
  assert.deepEqual(await readdir(own), [`${started[1]?.key}.usage`])
  for (const name of [`${key(1)}.usage`, "note.txt"]) {
    await writeFile(join(own, name), "")
    await utimes(join(own, name), 0, start / 1_000 - 401 * 24 * 3_600)
  }
  await runs.close()
  await using _next = await it.fixture.runs()
  await eventually("the old file is gone", async () => (await readdir(own)).length === 2)
  assert.deepEqual((await readdir(own)).sort(), [`${started[1]?.key}.usage`, "note.txt"].sort())
})

test("a person's oldest usage of ended runs is removed beyond the maximum, and none of live ones", async () => {
  await using directory = await temporary()
  const live = new Set([key(0)])
  const store = (limits: { maxFiles?: number; maxBytes?: number }) =>
    new UsageStore({
      directory: directory.path,
      clock: new SteppedClock(start),
      logger: silentLogger,
      isLive: (each) => live.has(each),
      ...limits,
    })
  const own = join(directory.path, "person-7")
  await mkdir(own)
  for (let n = 0; n < 8; n += 1) {
    await writeFile(join(own, `${key(n)}.usage`), Buffer.alloc(8_192, 1))
    await utimes(join(own, `${key(n)}.usage`), n, n)
  }
  const left = async () => (await readdir(own)).map((name) => Number.parseInt(name, 16)).sort((a, b) => a - b)
  const sample = { ...unknown, time: start }
  const add = (n: number, limits: { maxFiles?: number; maxBytes?: number }) => {
    live.add(key(n))
    return store(limits).record([{ run: { key: key(n), userId: 7 }, sample }])
  }
  await add(100, { maxFiles: 5 })
  assert.deepEqual(await left(), [0, 3, 4, 5, 6, 7, 100])
  await add(101, { maxBytes: 3 * 8_192 })
  assert.deepEqual(await left(), [0, 5, 6, 7, 100, 101])
})

test("runs continue while their usage cannot be stored, which is logged once", async () => {
  await using directory = await temporary()
  await writeFile(join(directory.path, "file"), "")
  const warnings: unknown[] = []
  await using fixture = await RunsFixture.open({ settings: { sampleEveryMs: 10, usageDir: join(directory.path, "file", "below") } })
  const logger = { ...silentLogger, warn: (_: unknown, text: string) => void warnings.push(text) }
  await using runs = await fixture.runs({ logger })
  const run = await ready(runs, fixture.request("fake/busy"))
  await eventually("it is sampled", async () => (await runs.usageSamples(run.id)).length >= 3)
  assert.equal((await runs.stop(run.id, { by: "stopped_by_user" }))?.state, "ended")
  assert.equal(warnings.filter((text) => text === "the usage of runs was not stored").length, 1)
})

test("figures are shown and judged while their files are written", async (t) => {
  await using it = await withUsage()
  t.mock.method(UsageStore.prototype, "record", () => new Promise(() => {}))
  await using runs = await it.fixture.runs()
  const run = await ready(runs, it.fixture.request("fake/busy", { memoryMiB: 64 }))
  await eventually("the run has several samples", async () => {
    it.clock.advance(10_000)
    return (await runs.usageSamples(run.id)).length >= 3
  })
})

/** Has the kernel let others wait when they open a file, until it is told to end. */
const leaseScript = `
const { functions } = process.getBuiltinModule("node:ffi").dlopen(null, { fcntl: { return: "int32", arguments: ["int32", "int32", "int32"] } })
const [setLease, toWrite] = [1024, 1]
const fd = require("node:fs").openSync(process.argv[1], "r+")
const say = (text) => new Promise((resolve) => process.stdout.write(text + "\\n", resolve))
process.on("SIGIO", () => {
  say("wanted")
  setTimeout(() => say("not told").then(() => process.exit()), 20_000)
})
process.stdin.once("data", () => say("told").then(() => process.exit()))
say(functions.fcntl(fd, setLease, toWrite) === 0 ? "held" : "refused")
`

test("nobody waits while the kernel is slow to write what runs use", async () => {
  await using directory = await temporary()
  const clock = new SteppedClock(start)
  const store = new UsageStore({ directory: directory.path, clock, logger: silentLogger, isLive: () => true })
  const run = { key: key(1), userId: 7 }
  const sample = { ...unknown, time: start }
  await store.record([{ run, sample }])
  const path = join(directory.path, "person-7", `${run.key}.usage`)
  for (const write of [() => store.record([{ run, sample }]), async () => store.mark(run, "warning", "soon")]) {
    const holder = spawn(process.execPath, ["--no-warnings", "-e", leaseScript, path], { stdio: ["pipe", "pipe", "inherit"] })
    const said = createInterface(holder.stdout)[Symbol.asyncIterator]()
    const next = async () => (await said.next()).value
    assert.equal(await next(), "held")
    const written = write().then(() => store.flush())
    assert.equal(await next(), "wanted")
    const reading = store.read({ ...run, key: key(2) }, all)
    clock.advance(500)
    await reading
    holder.stdin.write("end\n")
    assert.equal(await next(), "told")
    await written
  }
  assert.deepEqual(
    (await store.read(run, all)).marks.map(({ text }) => text),
    ["soon"],
  )
})

test("a mark that is written after its run ended is none of a restart", async () => {
  await using directory = await temporary()
  const live = new Set([key(1)])
  const isLive = (each: string) => live.has(each)
  const store = new UsageStore({ directory: directory.path, clock: new SteppedClock(start), logger: silentLogger, isLive })
  const run = { key: key(1), userId: 7 }
  await store.record([{ run, sample: { ...unknown, time: start } }])
  store.mark(run, "out_of_memory", "killed")
  live.clear()
  await store.record([])
  const { marks } = await store.read(run, all)
  assert.deepEqual(
    marks.map(({ text }) => text),
    ["killed"],
  )
})

const unknown = {
  cpus: null,
  memory: null,
  memoryLimit: 0,
  gpuMemory: null,
  gpuBusy: null,
  networkIn: null,
  networkOut: null,
  disk: null,
}
