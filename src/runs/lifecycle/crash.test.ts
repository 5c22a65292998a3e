import assert from "node:assert/strict"
import { test } from "node:test"
import { isLive } from "#contract"
import type { Runs } from "../index.ts"
import { CrashableProcess } from "../testing/crashable-process.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"

/** The engine holds exactly the runs that the database wants, each of them ready. */
async function agrees(world: RunsFixture): Promise<boolean> {
  const live = await world.store.runs.live()
  const up = live.every(({ key, state }) => state === "ready" && world.fake.containers.get(key)?.state === "running")
  return up && live.length === world.containerKeys().length
}

/**
 * Lets a process do something and die after each of its steps in turn; what the next one makes of
 * it must agree every time.
 */
async function dieEverywhere(world: RunsFixture, life: (runs: Runs) => Promise<unknown>): Promise<number> {
  for (let step = 1; ; step += 1) {
    const mortal = new CrashableProcess(step)
    const opening = world.runs({
      store: mortal.store(world.store),
      engine: await world.engine(mortal.fake(world.fake)),
      settings: { observeEveryMs: 60_000 },
    })
    const doing = opening.then(life)
    await Promise.race([mortal.death.promise, doing])
    const survived = !mortal.isDead
    if (survived) await (await opening).close()
    await using next = await world.runs()
    await eventually(`wanted and observed agree after a death at step ${step}`, () => agrees(world))
    for (const { id } of await world.store.runs.live()) await next.stop(id, { by: "stopped_by_user" })
    assert.deepEqual(world.containerKeys(), [], `after a death at step ${step}`)
    if (survived) return step
  }
}

const startAndStop = (world: RunsFixture, image: string) => async (runs: Runs) => {
  const { id } = await runs.start(world.request(image))
  await runs.waitUntilSettled(id)
  await runs.stop(id, { by: "stopped_by_user" })
}

for (const image of ["fake/http", "fake/slow-pull:10", "fake/exits:3", "fake/no-command"]) {
  test(`a crash at any step in the life of ${image} is repaired by the next process`, async () => {
    await using world = await RunsFixture.open({
      settings: { graceMs: 10, timeoutsMs: { pulling: 5_000, creating: 5_000, starting: 5_000 } },
    })
    const steps = await dieEverywhere(world, startAndStop(world, image))
    assert.ok(steps > 12, `only ${steps} steps`)
    for (const { id } of world.transitions) assert.ok(!isLive((await world.row(id)).state))
  })
}

test("a crash at any step of a stop during a pull is repaired by the next process", async () => {
  await using world = await RunsFixture.open({ settings: { graceMs: 10 } })
  await dieEverywhere(world, async (runs) => {
    const { id } = await runs.start(world.request("fake/slow-pull:200"))
    await runs.stop(id, { by: "stopped_by_user" })
  })
})

test("a program that exited while no process watched is not started again", async () => {
  await using world = await RunsFixture.open()
  const mortal = new CrashableProcess()
  const first = await world.runs({ store: mortal.store(world.store), engine: await world.engine(mortal.fake(world.fake)) })
  const { id, key } = await first.start(world.request("fake/no-port"))
  await eventually("it is starting", async () => (await world.row(id)).state === "starting")
  await eventually("it is up", () => world.fake.containers.get(key)?.state === "running")
  mortal.kill()
  await world.fake.exit(key, 9)
  await using second = await world.runs()
  const run = await second.waitUntilSettled(id)
  assert.deepEqual([run.state, run.reason?.code, run.reason?.exitCode], ["failed", "exited", 9])
})

test("a ready run whose program exited, or whose container vanished, while no process watched gets its true end", async () => {
  await using world = await RunsFixture.open()
  const mortal = new CrashableProcess()
  const first = await world.runs({ store: mortal.store(world.store), engine: await world.engine(mortal.fake(world.fake)) })
  const [one, two] = [await first.start(world.request("fake/http")), await first.start(world.request("fake/http", { person: 1 }))]
  await Promise.all([first.waitUntilSettled(one.id), first.waitUntilSettled(two.id)])
  mortal.kill()
  await world.fake.exit(one.key, 4)
  await world.fake.remove(two.key)
  await using second = await world.runs()
  await Promise.all([one, two].map(({ id }) => eventually("it is over", async () => (await world.row(id)).state === "ended")))
  assert.equal((await world.row(one.id)).reason?.exitCode, 4)
  assert.equal((await world.row(two.id)).reason?.code, "lost")
  assert.deepEqual(second.targets(), [])
})
