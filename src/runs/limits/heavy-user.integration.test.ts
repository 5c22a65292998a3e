import assert from "node:assert/strict"
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { unrestrictedViewer } from "#store"
import type { Runs } from "../index.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"

/*
 * A person who queues thousands of runs, or fails to start in a loop, for as long as the service
 * lets them.
 */

const many = 3_000
let fixture: RunsFixture
let runs: Runs
const projects: number[] = []

before(async () => {
  fixture = await RunsFixture.open({ cpus: 1, memoryMiB: 1_024 })
  const template = await fixture.store.projects.get(fixture.projectId)
  assert.ok(template)
  for (let createdCount = 0; createdCount < many; createdCount += 500) {
    await fixture.store.change(async (tx) => {
      for (let n = 0; n < 500; n += 1) projects.push((await tx.projects.insert(template)).id)
    })
  }
})
after(async () => {
  await runs?.[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

const unlimited = (id: number) => fixture.store.change((tx) => tx.users.update(id, { limits: { MaxRuns: null, MaxQueued: null } }))

async function queueMany(of: { person: number; from: number; to: number }): Promise<void> {
  for (let at = of.from; at < of.to; at += 250) {
    const expected = projects.slice(at, Math.min(at + 250, of.to))
    await Promise.all(expected.map((projectId) => runs.start({ ...fixture.request("fake/http", { person: of.person }), projectId })))
  }
}

/** Milliseconds of processor time for one admission decision, the least of several measurements. */
async function costOfStart(person: number): Promise<number> {
  const costs: number[] = []
  for (let n = 0; n < 15; n += 1) {
    const started = process.cpuUsage()
    for (let i = 0; i < 10; i += 1) await runs.preview(fixture.request("fake/http", { person }))
    const { user, system } = process.cpuUsage(started)
    costs.push((user + system) / 10_000)
  }
  return Math.min(...costs)
}

test("another person's run is next behind 3,000 queued runs of one person, and a start takes milliseconds", async () => {
  runs = await fixture.runs({ settings: { observeEveryMs: 1_000 } })
  await unlimited(fixture.users[0] as number)
  await queueMany({ person: 0, from: 0, to: 300 })
  const few = await costOfStart(1)
  await queueMany({ person: 0, from: 300, to: many })
  assert.equal((await fixture.store.runs.queued()).length, many - 1)
  const cost = await costOfStart(1)
  assert.ok(cost < 5 + 12 * few, `${cost} ms with ${many} queued runs, ${few} ms with 300`)

  const other = await runs.start(fixture.request("fake/http", { person: 1 }))
  assert.equal(other.state, "queued")
  const third = await runs.start(fixture.request("fake/http", { person: 2 }))
  assert.deepEqual([runs.queuePosition(other.id), runs.queuePosition(third.id)], [1, 2])
  const holder = (await fixture.store.runs.admitted())[0]
  assert.ok(holder)
  await runs.stop(holder.id, { by: "stopped_by_user" })
  await eventually("the other person's run left the queue", async () => (await fixture.row(other.id)).state !== "queued", 60_000)
  assert.deepEqual([(await fixture.store.runs.queued()).length, runs.queuePosition(third.id)], [many, 1])
  await runs[Symbol.asyncDispose]()
})

test("failed starts in a loop leave at most the history's maximum of rows, output and keys", async () => {
  const logsDir = await mkdtemp(join(tmpdir(), "quayside-history-"))
  runs = await fixture.runs({ settings: { maxEndedRuns: 20, historyEveryMs: 20, logsDir } })
  const expected = { ...fixture.request("fake/http", { person: 2, plan: {} }), projectId: projects[7] as number }
  const refusal = { code: "image_not_found" as const, msg: "no" }
  const created: string[] = []
  const own = join(logsDir, `person-${fixture.users[2]}`)
  await mkdir(own)
  for (let n = 0; n < 500; n += 1) {
    const run = await runs.start({ ...expected, refusal }, { idempotency: { key: `k${n}`, bodyHash: "h" } })
    assert.equal(run.state, "failed")
    created.push(run.key)
    if (n < 5) await writeFile(join(own, `${run.key}.jsonl`), "{}\n")
  }
  const seen = () =>
    fixture.store.runs.list({ where: { userId: fixture.users[2] as number }, states: ["ended", "failed"] }, unrestrictedViewer, page)
  await eventually("the history is short", async () => (await seen()).total === 20)
  const { rows } = await seen()
  assert.deepEqual(new Set(rows.map(({ key }) => key)), new Set(created.slice(-20)), "the newest stay")
  assert.equal(await fixture.store.runs.findIdempotencyKey(fixture.users[2] as number, "k0"), undefined)
  assert.ok(await fixture.store.runs.findIdempotencyKey(fixture.users[2] as number, "k499"))
  await eventually("their output is removed", async () => (await readdir(own)).length === 0)
  assert.ok((await fixture.store.runs.queued()).length > 2_000, "no live run was touched")
  await rm(logsDir, { recursive: true })
})

const page = { page: 1, pageSize: 100 }
