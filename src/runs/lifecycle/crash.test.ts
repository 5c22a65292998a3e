import assert from "node:assert/strict"
import { test } from "node:test"
import { isLive } from "#contract"
import type { Runs } from "../index.ts"
import { CrashableProcess } from "../testing/crashable-process.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"

/** Whether the engine has exactly the containers of the live runs, and all of them are ready. */
async function isConsistent(fixture: RunsFixture): Promise<boolean> {
  const live = await fixture.store.runs.live()
  const up = live.every(({ key, state }) => state === "ready" && fixture.fake.containers.get(key)?.state === "running")
  return up && live.length === fixture.containerKeys().length
}

/**
 * Repeats the same work, and crashes the process one step later each time. After each crash the
 * next process must restore the agreement of desired and observed state.
 */
async function crashAtEveryStep(fixture: RunsFixture, work: (runs: Runs) => Promise<unknown>): Promise<number> {
  for (let step = 1; ; step += 1) {
    const crashable = new CrashableProcess(step)
    const opening = fixture.runs({
      store: crashable.store(fixture.store),
      engine: await fixture.engine(crashable.fake(fixture.fake)),
      settings: { observeEveryMs: 60_000 },
    })
    const working = opening.then(work)
    await Promise.race([crashable.crashed.promise, working])
    const isFinished = !crashable.isCrashed
    if (isFinished) await (await opening).close()
    await using next = await fixture.runs()
    await eventually(`desired and observed state agree after a crash at step ${step}`, () => isConsistent(fixture))
    for (const { id } of await fixture.store.runs.live()) await next.stop(id, { by: "stopped_by_user" })
    assert.deepEqual(fixture.containerKeys(), [], `after a crash at step ${step}`)
    if (isFinished) return step
  }
}

const startAndStop = (fixture: RunsFixture, image: string) => async (runs: Runs) => {
  const { id } = await runs.start(fixture.request(image))
  await runs.waitUntilSettled(id)
  await runs.stop(id, { by: "stopped_by_user" })
}

for (const image of ["fake/http", "fake/slow-pull:10", "fake/exits:3", "fake/no-command"]) {
  test(`a crash at any step in the life of ${image} is repaired by the next process`, async () => {
    await using fixture = await RunsFixture.open({
      settings: { graceMs: 10, timeoutsMs: { pulling: 5_000, creating: 5_000, starting: 5_000 } },
    })
    const steps = await crashAtEveryStep(fixture, startAndStop(fixture, image))
    assert.ok(steps > 12, `only ${steps} steps`)
    for (const { id } of fixture.transitions) assert.ok(!isLive((await fixture.row(id)).state))
  })
}

test("a crash at any step of a stop during a pull is repaired by the next process", async () => {
  await using fixture = await RunsFixture.open({ settings: { graceMs: 10 } })
  await crashAtEveryStep(fixture, async (runs) => {
    const { id } = await runs.start(fixture.request("fake/slow-pull:200"))
    await runs.stop(id, { by: "stopped_by_user" })
  })
})

test("a program that exited while no process watched is not started again", async () => {
  await using fixture = await RunsFixture.open()
  const crashable = new CrashableProcess()
  const first = await fixture.runs({ store: crashable.store(fixture.store), engine: await fixture.engine(crashable.fake(fixture.fake)) })
  const { id, key } = await first.start(fixture.request("fake/no-port"))
  await eventually("the run is starting", async () => (await fixture.row(id)).state === "starting")
  await eventually("the container is running", () => fixture.fake.containers.get(key)?.state === "running")
  crashable.kill()
  await fixture.fake.exit(key, 9)
  await using second = await fixture.runs()
  const run = await second.waitUntilSettled(id)
  assert.deepEqual([run.state, run.reason?.code, run.reason?.exitCode], ["failed", "exited", 9])
})

test("a ready run whose program exited, or whose container vanished, while no process watched gets its true end", async () => {
  await using fixture = await RunsFixture.open()
  const crashable = new CrashableProcess()
  const first = await fixture.runs({ store: crashable.store(fixture.store), engine: await fixture.engine(crashable.fake(fixture.fake)) })
  const [one, two] = [await first.start(fixture.request("fake/http")), await first.start(fixture.request("fake/http", { person: 1 }))]
  await Promise.all([first.waitUntilSettled(one.id), first.waitUntilSettled(two.id)])
  crashable.kill()
  await fixture.fake.exit(one.key, 4)
  await fixture.fake.remove(two.key)
  await using second = await fixture.runs()
  await Promise.all([one, two].map(({ id }) => eventually("the run has ended", async () => (await fixture.row(id)).state === "ended")))
  assert.equal((await fixture.row(one.id)).reason?.exitCode, 4)
  assert.equal((await fixture.row(two.id)).reason?.code, "lost")
  assert.deepEqual(second.targets(), [])
})
