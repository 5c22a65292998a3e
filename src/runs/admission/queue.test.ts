import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import type { Limits, Store } from "#store"
import { RunCache } from "../run-cache.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"

const setLimits = (store: Store, id: number, limits: Limits) => store.change((tx) => tx.users.update(id, { limits }))

async function projectsOf(fixture: RunsFixture, count: number): Promise<number[]> {
  const template = await fixture.store.projects.get(fixture.projectId)
  assert.ok(template)
  return fixture.store.change(async (tx) => {
    const ids: number[] = []
    for (let n = 0; n < count; n += 1) ids.push((await tx.projects.insert(template)).id)
    return ids
  })
}

test("a start beyond `MaxQueued` fails with `quota_exceeded`, unless it need not wait", async () => {
  await using fixture = await RunsFixture.open({ cpus: 1 })
  const [a, b, c] = (await projectsOf(fixture, 3)) as [number, number, number]
  await setLimits(fixture.store, fixture.users[0] as number, { MaxQueued: 1 })
  await using runs = await fixture.runs()
  const start = (projectId: number, person = 0) => runs.start({ ...fixture.request("fake/http", { person }), projectId })
  const first = await start(a)
  assert.notEqual(first.state, "failed")
  assert.equal((await start(b)).state, "queued")
  const third = await start(c)
  assert.deepEqual([third.state, third.reason?.code], ["failed", "quota_exceeded"])
  assert.match(third.reason?.msg ?? "", /person's limit is 1 queued runs, and 1 wait already/)
  assert.equal((await start(c, 1)).state, "queued", "nobody else is bounded by it")
})

test("a group's `TotalLimits` limit the queued runs of all its members together", async () => {
  await using fixture = await RunsFixture.open({ cpus: 1 })
  const [a] = (await projectsOf(fixture, 1)) as [number]
  await fixture.store.change(async (tx) => {
    const lab = await tx.groups.insert({ groupName: "lab", comment: "", limits: {}, totalLimits: { MaxQueued: 1 } })
    await tx.groups.setMembers(lab.id, fixture.users.slice(0, 2))
  })
  await using runs = await fixture.runs()
  const start = (person: number, projectId = fixture.projectId) => runs.start({ ...fixture.request("fake/http", { person }), projectId })
  await start(2)
  assert.equal((await start(0)).state, "queued")
  assert.match((await start(1)).reason?.msg ?? "", /all members of lab together is 1 queued runs/)
  assert.equal((await start(2, a)).state, "queued")
})

test("a preview returns the queue position that the start then has", async () => {
  await using fixture = await RunsFixture.open({ cpus: 1 })
  const [a, b, c] = (await projectsOf(fixture, 3)) as [number, number, number]
  await using runs = await fixture.runs()
  const request = (person: number, projectId: number) => ({ ...fixture.request("fake/http", { person }), projectId })
  for (const projectId of [a, b, c]) await runs.start(request(0, projectId))
  for (const [person, projectId, position] of [
    [1, a, 1],
    [1, b, 2],
    [2, a, 2],
  ] as const) {
    assert.equal((await runs.preview(request(person, projectId))).position, position)
    const run = await runs.start(request(person, projectId))
    assert.equal(runs.queuePosition(run.id), position)
  }
})

test("one person's previews at once put the queue in order once in a turn of the event loop", async (t) => {
  await using fixture = await RunsFixture.open({ cpus: 1 })
  const [a, b] = (await projectsOf(fixture, 2)) as [number, number]
  await using runs = await fixture.runs()
  const request = (person: number, projectId: number) => ({ ...fixture.request("fake/http", { person }), projectId })
  for (const projectId of [a, b]) await runs.start(request(0, projectId))
  let orders = 0
  const { queue } = RunCache.prototype
  t.mock.method(RunCache.prototype, "queue", function (this: RunCache, ...args: Parameters<typeof queue>) {
    orders += 1
    return queue.apply(this, args)
  })
  let arePending = true
  const all = Promise.all(Array.from({ length: 30 }, () => runs.preview(request(1, a)))).finally(() => (arePending = false))
  for (let before = orders; arePending; before = orders) {
    await turn()
    assert.ok(orders - before <= 1, `${orders - before} previews put the queue in order in one turn`)
  }
  assert.deepEqual([...new Set((await all).map(({ position }) => position))], [1])
  assert.equal(orders, 30)
})

test("smaller runs do not overtake the largest run of the person who is next", async () => {
  await using fixture = await RunsFixture.open({ cpus: 4 })
  const [a, b, c] = (await projectsOf(fixture, 3)) as [number, number, number]
  await using runs = await fixture.runs()
  const start = (person: number, projectId: number, cpus: number) =>
    runs.start({ ...fixture.request("fake/http", { person, cpus }), projectId })
  const holder = await start(0, a, 2)
  const large = await start(1, a, 4)
  const small = await start(0, b, 1)
  const other = await start(2, c, 1)
  assert.deepEqual([large.state, small.state, other.state], ["queued", "queued", "queued"])
  await runs.stop(holder.id, { by: "stopped_by_user" })
  await eventually("the large run left the queue", async () => (await fixture.row(large.id)).state !== "queued")
  assert.deepEqual([(await fixture.row(small.id)).state, (await fixture.row(other.id)).state], ["queued", "queued"])
})

test("runs that leave the queue together do so in several transactions, if planning them again takes long", async () => {
  await using fixture = await RunsFixture.open({ cpus: 8 })
  const projects = await projectsOf(fixture, 8)
  await using runs = await fixture.runs({
    replan: async (_, { spec }) => {
      const until = performance.now() + 6
      while (performance.now() < until);
      return { plan: spec }
    },
  })
  const holder = await runs.start(fixture.request("fake/http", { person: 0, cpus: 8 }))
  for (const projectId of projects) await runs.start({ ...fixture.request("fake/http", { person: 1 }), projectId })
  const left = () => fixture.transitions.filter(({ from, to }) => from === "queued" && to === "pulling").length
  void runs.stop(holder.id, { by: "stopped_by_user" })
  while (left() === 0) await turn()
  assert.ok(left() < 5, `${left()} left the queue in one transaction`)
  await eventually("all have left the queue", () => left() === 8)
})
