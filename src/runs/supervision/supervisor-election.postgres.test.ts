import assert from "node:assert/strict"
import { after, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import type { Engine } from "#engine"
import { silentLogger, systemClock } from "#kit"
import { openStore, type Store } from "#store"
import { postgresServer } from "../../../test/fixtures/postgres-server.ts"
import type { Runs } from "../index.ts"
import { CrashableProcess } from "../testing/crashable-process.ts"
import { eventually, RunsFixture, type RunsFixtureOptions } from "../testing/runs-fixture.ts"
import { SteppedClock } from "../testing/stepped-clock.ts"
import type { SupervisionOptions } from "./supervisor-election.ts"

const server = await postgresServer()
after(() => server[Symbol.asyncDispose]())

const leaseTimes = { renewEveryMs: 50, lostAfterMs: 600, takenAfterMs: 900 }
const leased: SupervisionOptions = { mode: "leased", leaseTimes }
/** For tests with so many runs that a busy machine cannot renew a lease in time. */
const patient: SupervisionOptions = { mode: "leased", leaseTimes: { ...leaseTimes, lostAfterMs: 3_000, takenAfterMs: 4_000 } }
/** For tests in which nobody takes over. */
const lasting: SupervisionOptions = { mode: "leased", leaseTimes: { ...leaseTimes, lostAfterMs: 50_000, takenAfterMs: 60_000 } }

/** A database and an engine, on which several processes are opened. */
async function openCluster(options: RunsFixtureOptions = {}) {
  const stack = new AsyncDisposableStack()
  const { url } = stack.use(await server.makeDatabase())
  const openDatabase = () => openStore({ url, logger: silentLogger, clock: systemClock })
  const fixture = stack.use(await RunsFixture.open({ ...options, store: await openDatabase() }))
  const openProcess = async (
    supervision: SupervisionOptions = leased,
    { crashable, capacity }: { crashable?: CrashableProcess; capacity?: Engine["capacity"] } = {},
  ): Promise<Runs> => {
    const own = stack.use(await openDatabase())
    const store: Store = crashable ? crashable.store(own) : own
    const engine = await fixture.engine(crashable ? crashable.fake(fixture.fake) : fixture.fake)
    if (capacity) engine.capacity = capacity
    const runs = await fixture.runs({ store, engine, supervision })
    if (!crashable) stack.use(runs)
    return runs
  }
  return { fixture, openProcess, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test("one process supervises, and another that only follows starts, routes and stops runs", async () => {
  await using cluster = await openCluster()
  const { fixture, openProcess } = cluster
  const supervisor = await openProcess(lasting)
  await eventually("the first process supervises", () => supervisor.isLeader())
  const other = await openProcess({ mode: "never" })
  const standby = await openProcess(lasting)
  const { id } = await other.start(fixture.request("fake/http"))
  assert.equal((await other.waitUntilSettled(id)).state, "ready")
  await other.untilRouted(id)
  assert.notEqual(other.target(id)?.address, undefined, "the address is known as soon as somebody uses it")
  assert.equal(supervisor.untilRouted(id), undefined)
  assert.equal(standby.isLeader(), false)
  assert.match((await other.checkSupervision())?.msg ?? "", /^Another process/)
  const stopped = await other.stop(id, { by: "stopped_by_user" })
  assert.equal(stopped?.state, "ended")
  assert.deepEqual(fixture.containerKeys(), [])
  await eventually("the follower forgets it", () => other.target(id) === undefined)

  await supervisor.close()
  await eventually("the standby follows at once", () => standby.isLeader())
  const next = await other.start(fixture.request("fake/http"))
  assert.equal((await other.waitUntilSettled(next.id)).state, "ready")
})

test("a process that admits no runs routes them at once, whether or not it may see the nodes", async () => {
  await using cluster = await openCluster()
  const { fixture, openProcess } = cluster
  await openProcess(lasting)
  const unanswered = () => Promise.withResolvers<never>().promise
  const gateway = await openProcess({ mode: "never", admitsRuns: false }, { capacity: unanswered })
  const api = await openProcess({ mode: "never" })
  const { id } = await api.start(fixture.request("fake/http"))
  assert.equal((await api.waitUntilSettled(id)).state, "ready")
  await eventually("the gateway knows the address", () => gateway.target(id)?.address !== undefined)
})

test("without a supervisor the check says so, and what is started waits for one", async () => {
  await using cluster = await openCluster()
  const { fixture, openProcess } = cluster
  const only = await openProcess({ mode: "never" })
  const check = await only.checkSupervision()
  assert.deepEqual([check?.ok, /start one with the role supervisor/.test(check?.msg ?? "")], [false, true])
  const { id } = await only.start(fixture.request("fake/http"))
  await pause(200)
  assert.equal((await fixture.row(id)).state, "pulling")
  await assert.rejects(only.findIdle(1), { code: "unavailable", message: /start one with the role supervisor/ })
  await openProcess()
  assert.equal((await only.waitUntilSettled(id)).state, "ready")
})

test("every process tells which runs are idle, and when they end for that", async () => {
  const clock = new SteppedClock()
  await using cluster = await openCluster({ clock, people: 160, cpus: 160, settings: { sampleEveryMs: 50, maxSamples: 10_000 } })
  const { fixture, openProcess } = cluster
  const supervisor = await openProcess(lasting)
  await eventually("the first process supervises", () => supervisor.isLeader())
  const other = await openProcess({ mode: "never" })
  const requests = fixture.users.map((_, person) => fixture.request("fake/http", { person, plan: { idleMinutes: 30 } }))
  const started = await Promise.all(requests.map((request) => other.start(request)))
  const ready = await Promise.all(started.map(({ id }) => other.waitUntilSettled(id)))
  assert.deepEqual([...new Set(ready.map(({ state }) => state))], ["ready"])
  const ids = started.map(({ id }) => id).sort((a, b) => b - a)
  const idle = async () => (await other.findIdle(20)).map(({ run }) => run.id)
  assert.deepEqual(await idle(), [])
  const samples = () => Promise.all(ids.map((id) => supervisor.usageSamples(id)))
  await eventually("all were sampled", async () => (await samples()).every(({ length }) => length > 0))

  clock.advance(22 * 60_000)
  await eventually("all are idle, more than one message can name", async () => (await idle()).length === ids.length)
  assert.deepEqual(await idle(), ids)
  const [kept = 0, left = 0] = ids
  await eventually("their end is known", () => other.idleEnd(kept) !== undefined && other.idleEnd(left) !== undefined)
  assert.equal(other.idleEnd(left), supervisor.idleEnd(left))
  await other.keepAlive(kept)
  assert.equal(other.idleEnd(kept), undefined)
  await eventually("the supervisor hears of it", () => supervisor.idleEnd(kept) === undefined)
  assert.deepEqual(await idle(), ids.slice(1))
})

test("a change of a run that was ready reads its plan in no process, since that may be long", async (t) => {
  const clock = new SteppedClock()
  await using cluster = await openCluster({ clock, settings: { sampleEveryMs: 50 } })
  const { fixture, openProcess } = cluster
  const supervisor = await openProcess(lasting)
  await eventually("the first process supervises", () => supervisor.isLeader())
  const other = await openProcess({ mode: "never" })
  const { id } = await other.start(fixture.request("fake/http"))
  assert.equal((await other.waitUntilSettled(id)).state, "ready")
  const sent = t.mock.method(pg.Client.prototype, "query")
  clock.advance(1_000)
  await other.keepAlive(id)
  await eventually("the supervisor hears of it", () => supervisor.lastActivity(id) === other.lastActivity(id))
  const queries = sent.mock.calls.map(({ arguments: [query] }) => (typeof query === "string" ? query : (query as { text: string }).text))
  assert.ok(queries.some((sql) => sql.startsWith('update "runs"')))
  assert.deepEqual(
    queries.filter((sql) => sql.includes('"spec"')),
    [],
  )
})

test("a process that cannot begin says why, and another one supervises", async () => {
  await using cluster = await openCluster()
  const { fixture, openProcess } = cluster
  const unable = await openProcess({ ...leased, onElected: () => Promise.reject(new Error("it may not mount")) })
  await eventually(
    "it says why",
    async () => (await unable.checkSupervision())?.msg === "This process cannot look after the runs: it may not mount",
  )
  const able = await openProcess()
  await eventually("the other one supervises", () => able.isLeader())
  const { id } = await unable.start(fixture.request("fake/http"))
  assert.equal((await unable.waitUntilSettled(id)).state, "ready")
})

test("when the supervisor dies in the middle of 40 starts and stops, another one completes each once", async () => {
  await using cluster = await openCluster({ people: 40 })
  const { fixture, openProcess } = cluster
  const dying = new CrashableProcess()
  const first = await openProcess(patient, { crashable: dying })
  await eventually("the first process supervises", () => first.isLeader())
  const standby = await openProcess(patient)
  const api = await openProcess({ mode: "never" })
  const ids: number[] = []
  for (let person = 0; person < 40; person += 1) {
    ids.push((await api.start(fixture.request(person % 2 ? "fake/http" : "fake/slow-pull:300", { person }))).id)
    if (person === 20) dying.kill()
  }
  const stopping = ids.slice(0, 5).map((id) => api.stop(id, { by: "stopped_by_user" }))
  const rows = await Promise.all(ids.slice(5).map((id) => api.waitUntilSettled(id)))
  assert.deepEqual(new Set(rows.map(({ state }) => state)), new Set(["ready"]))
  assert.deepEqual(new Set((await Promise.all(stopping)).map((row) => row?.state)), new Set(["ended"]))
  assert.equal(standby.isLeader(), true)
  const live = await fixture.store.runs.live()
  assert.deepEqual(fixture.containerKeys().sort(), live.map(({ key }) => key).sort())
  assert.equal(live.length, 35)
})

test("a supervisor that does not know that another one took over writes nothing", async () => {
  await using cluster = await openCluster()
  const { fixture, openProcess } = cluster
  const slow = await openProcess({ mode: "leased", leaseTimes: { renewEveryMs: 60_000, lostAfterMs: 60_000, takenAfterMs: 60_000 } })
  await eventually("it supervises", () => slow.isLeader())
  const { id } = await slow.start(fixture.request("fake/slow-pull:400"))
  await eventually("the pull has begun", () => slow.progress(id) !== null)
  await fixture.store.change((tx) => tx.leases.take("supervisor", { holder: "another", address: "" }))
  const row = await fixture.row(id)
  await eventually("its next write is refused", () => !slow.isLeader())
  await pause(500)
  assert.deepEqual(await fixture.row(id), row)
})

test("a supervisor that cannot renew its lease gives up before another one begins, and writes nothing more", async () => {
  await using cluster = await openCluster()
  const { fixture, openProcess } = cluster
  const first = await openProcess()
  await eventually("the first process supervises", () => first.isLeader())
  const { id } = await first.start(fixture.request("fake/slow-pull:3000"))
  const second = await openProcess()
  // As if the first process had not noticed the time: the database has another token.
  const taken = await fixture.store.change((tx) => tx.leases.take("supervisor", { holder: "somebody", address: "" }))
  await eventually("the first process gives up", () => !first.isLeader())
  const row = await fixture.row(id)
  await pause(200)
  assert.deepEqual(await fixture.row(id), row, "nothing is written while nobody supervises")
  await eventually("one of them begins again", () => first.isLeader() || second.isLeader())
  assert.ok(((await fixture.store.leases.get("supervisor"))?.token ?? 0) > taken)
  assert.equal((await second.waitUntilSettled(id)).state, "ready")
  assert.equal(fixture.containerKeys().length, 1)
})
