import assert from "node:assert/strict"
import { mkdir, mkdtemp, readdir, rm, stat, truncate, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { bounds, type Failure } from "#contract"
import type { ContainerLogLine } from "#engine"
import { silentLogger, systemClock } from "#kit"
import type { RunsContext } from "../context.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"
import { FinalLogs } from "./logs.ts"

async function temporary(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), "quayside-logs-"))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

async function texts(lines: AsyncIterable<ContainerLogLine>): Promise<string[]> {
  return (await Array.fromAsync(lines)).map(({ text }) => text)
}

test("output is readable while a run is live and, complete, after its end and in the next process", async () => {
  await using directory = await temporary()
  await using fixture = await RunsFixture.open()
  const settings = { logsDir: join(directory.path, "logs") }
  const first = await fixture.runs({ settings })
  const { id, key } = await first.start(fixture.request("fake/http"))
  const run = await first.waitUntilSettled(id)
  const container = fixture.fake.containers.get(key)
  assert.ok(container)
  fixture.fake.log(container, "stdout", "one")
  assert.deepEqual((await texts(first.logs(run))).at(-1), "one")
  fixture.fake.log(container, "stderr", "two")
  await first.stop(id, { by: "stopped_by_user" })
  const ended = await fixture.row(id)
  assert.deepEqual(await texts(first.logs(ended, { tail: 2 })), ["one", "two"])
  await first.close()
  await using second = await fixture.runs({ settings })
  assert.deepEqual(await texts(second.logs(ended, { tail: 1, follow: true })), ["two"])
  assert.deepEqual(await texts(second.logs(ended, { since: Date.now() + 1_000 })), [])
  assert.equal((await stat(settings.logsDir)).mode & 0o777, 0o700)
  const own = join(settings.logsDir, `person-${run.userId}`)
  assert.deepEqual(await readdir(own), [`${key}.jsonl`])
  assert.equal((await stat(join(own, `${key}.jsonl`))).mode & 0o777, 0o600)
})

test("a run that never had a container has no output", async () => {
  await using directory = await temporary()
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs({ settings: { logsDir: directory.path } })
  const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/missing"))).id)
  assert.deepEqual(await texts(runs.logs(run)), [])
  assert.deepEqual(await readdir(directory.path), [])
})

test("a run ends although its output cannot be stored", async () => {
  await using directory = await temporary()
  await using fixture = await RunsFixture.open()
  await writeFile(join(directory.path, "file"), "")
  await using runs = await fixture.runs({ settings: { logsDir: join(directory.path, "file", "below") } })
  const { id } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  assert.equal((await runs.stop(id, { by: "stopped_by_user" }))?.state, "ended")
})

test("reading a live run's output without a reachable engine fails with status 503", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs()
  const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http"))).id)
  fixture.fake.reachable = false
  await assert.rejects(texts(runs.logs(run)), (error: Failure) => error.code === "engine_unreachable" && error.status === 503)
})

test("output older than the setting is removed, and nothing else", async () => {
  await using directory = await temporary()
  await using fixture = await RunsFixture.open()
  const [old, young] = [`${"a".repeat(32)}.jsonl`, `${"b".repeat(32)}.jsonl`]
  for (const name of [old, young, "note.txt"]) await writeFile(join(directory.path, name), "")
  const longAgo = Date.now() / 1_000 - 3 * 24 * 3_600
  for (const name of [old, "note.txt"]) await utimes(join(directory.path, name), longAgo, longAgo)
  await using _runs = await fixture.runs({ settings: { logsDir: directory.path, maxLogDays: 2 } })
  await eventually("the old one is gone", async () => (await readdir(directory.path)).length === 2)
  assert.deepEqual((await readdir(directory.path)).sort(), [young, "note.txt"])
})

test("a person's oldest output is removed beyond the maximum per person", async () => {
  await using directory = await temporary()
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs({ settings: { logsDir: directory.path } })
  const own = join(directory.path, `person-${fixture.users[0]}`)
  await mkdir(own)
  const names = Array.from({ length: 70 }, (_, i) => `${i.toString(16).padStart(32, "0")}.jsonl`)
  for (const [i, name] of names.entries()) {
    await writeFile(join(own, name), "")
    await truncate(join(own, name), 4 * 2 ** 20)
    await utimes(join(own, name), Date.now() / 1_000 - 1_000 + i, Date.now() / 1_000 - 1_000 + i)
  }
  const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http"))).id)
  const container = fixture.fake.containers.get(run.key)
  assert.ok(container)
  fixture.fake.log(container, "stdout", "text")
  await runs.stop(run.id, { by: "stopped_by_user" })
  await eventually("the output is stored", async () => (await readdir(own)).includes(`${run.key}.jsonl`))
  await eventually("the oldest are gone", async () => (await readdir(own)).length === 64)
  assert.ok(!(await readdir(own)).includes(names[6] as string) && (await readdir(own)).includes(names[7] as string))
})

test("the output that programs print while they are stopped is read in turns, however fast it comes", async () => {
  await using directory = await temporary()
  let read = 0
  async function* lines(): AsyncIterable<ContainerLogLine> {
    for (; read < 20_000; read += 1) yield { time: 0, stream: "stdout", text: "y" }
  }
  const settings = { logsDir: directory.path }
  const ctx = { engine: { logs: lines }, settings, clock: systemClock, logger: silentLogger } as unknown as RunsContext
  const final = [1, 2].map((n) => new FinalLogs(ctx, { key: String(n).repeat(32), userId: 1 }))
  for (const each of final) each.start()
  await turn()
  assert.ok(read < 1_000, `${read} lines were read in one turn`)
  await Promise.all(final.map((each) => each.save()))
})

test("the output of one person's runs that end at once has a maximum in memory, and other output is stored whole", async () => {
  await using directory = await temporary()
  const length = 10_000
  let read = 0
  async function* lines(): AsyncIterable<ContainerLogLine> {
    for (let n = 0; n < length; n += 1) yield { time: n, stream: "stdout", text: "x".repeat(350) }
    read += 1
  }
  const settings = { logsDir: directory.path }
  const ctx = { engine: { logs: lines }, settings, clock: systemClock, logger: silentLogger } as unknown as RunsContext
  const keyOf = (n: number) => String(n).padStart(32, "0")
  const end = async (userId: number, count: number) => {
    const all = Array.from({ length: count }, (_, n) => new FinalLogs(ctx, { key: keyOf(n), userId }))
    const before = read
    for (const each of all) each.start()
    await eventually("all is read", () => read >= before + count, 30_000)
    await Promise.all(all.map((each) => each.save()))
    const sizes = all.map(async (_, n) => (await stat(join(directory.path, `person-${userId}`, `${keyOf(n)}.jsonl`))).size)
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  }
  const ofMany = await end(1, 8)
  assert.ok(ofMany <= 1.01 * bounds.storage.endingLogCharacters.value, `${ofMany} bytes`)
  assert.ok((await end(1, 2)) > 2 * 350 * length)
  assert.ok((await Promise.all([end(1, 3), end(2, 3)])).every((size) => size > 3 * 350 * length))
})
