import assert from "node:assert/strict"
import { test } from "node:test"
import { canTransition, isLive, type Reason } from "#contract"
import { type Random, seededRandom } from "../../../test/fixtures/random.ts"
import type { Runs } from "../index.ts"
import { CrashableProcess } from "../testing/crashable-process.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"

const images = [
  "fake/http",
  "fake/slow:20",
  "fake/slow-pull:30",
  "fake/exits:2",
  "fake/exits-later:30",
  "fake/oom",
  "fake/missing",
  "fake/stubborn",
]

/**
 * Random starts and stops of people, exits of programs, outages of the engine, and crashes of
 * Quayside.
 */
class RandomFaults {
  readonly fixture: RunsFixture
  readonly #random: Random
  readonly reasons = new Map<number, Reason>()
  #process = new CrashableProcess()
  #runs: Runs | undefined

  constructor(fixture: RunsFixture, seed: number) {
    this.fixture = fixture
    this.#random = seededRandom(seed)
  }

  /** Crashes the current process and opens the next. */
  async open(): Promise<Runs> {
    this.#process.kill()
    this.#process = new CrashableProcess()
    const settings = { observeEveryMs: 20, graceMs: 20 }
    this.#runs = await this.fixture.runs({
      store: this.#process.store(this.fixture.store),
      engine: await this.fixture.engine(this.#process.fake(this.fixture.fake)),
      settings,
    })
    return this.#runs
  }

  async step(): Promise<void> {
    const runs = this.#runs ?? (await this.open())
    const dice = this.#random.below(100)
    const person = this.#random.below(this.fixture.users.length)
    const image = this.#random.pick(images)
    const key = this.#random.pick(this.fixture.containerKeys()) ?? ""
    if (dice < 40) void runs.start(this.fixture.request(image, { person, gpus: person % 3, cpus: 1 + (person % 2) })).catch(() => {})
    else if (dice < 60) await this.#stopOne(runs)
    else if (dice < 68) await this.fixture.fake.exit(key, 5)
    else if (dice < 74) await this.fixture.fake.remove(key)
    else if (dice < 84) this.#breakEngineFor(this.#random.below(60))
    else if (dice < 90) await this.open()
    else await new Promise((resolve) => setTimeout(resolve, this.#random.below(40)))
    await new Promise((resolve) => setTimeout(resolve, this.#random.below(8)))
    await this.#assertFirstReasonsStay()
  }

  #breakEngineFor(ms: number): void {
    this.fixture.fake.reachable = false
    setTimeout(() => {
      this.fixture.fake.reachable = true
    }, ms)
  }

  async #stopOne(runs: Runs): Promise<void> {
    const live = await this.fixture.store.runs.live()
    const run = this.#random.pick(live)
    if (run) void runs.stop(run.id, { by: "stopped_by_user" }).catch(() => {})
  }

  /** Asserts that no later reason replaces the first. */
  async #assertFirstReasonsStay(): Promise<void> {
    for (const { id } of this.fixture.transitions) {
      const { reason } = await this.fixture.row(id)
      const first = this.reasons.get(id)
      if (first) assert.deepEqual(reason, first, `the reason of run ${id}`)
      else if (reason) this.reasons.set(id, reason)
    }
  }

  async close(): Promise<void> {
    await this.#runs?.close()
  }
}

/** Whether every live run is ready or rightly queued, and the engine has no other containers. */
async function atRest(fixture: RunsFixture, runs: Runs): Promise<boolean> {
  const live = await fixture.store.runs.live()
  const up = live.filter(({ state }) => state === "ready")
  const queued = live.filter(({ state }) => state === "queued")
  const running = up.every(({ id, key }) => fixture.fake.containers.get(key)?.state === "running" && runs.target(id)?.address)
  return (
    up.length + queued.length === live.length &&
    running &&
    fixture.containerKeys().length === up.length &&
    (up.length > 0 || queued.length === 0)
  )
}

for (const seed of [1, 2, 3]) {
  test(`desired and observed state agree soon after random faults stop (seed ${seed})`, async () => {
    await using fixture = await RunsFixture.open({ people: 12, cpus: 6, mockGpus: 3 })
    const faults = new RandomFaults(fixture, seed)
    for (let n = 0; n < 150; n += 1) await faults.step()
    const runs = await faults.open()
    await eventually("everything is at rest", () => atRest(fixture, runs))
    for (const { id, from, to } of fixture.transitions) if (from) assert.ok(canTransition(from, to), `run ${id} went from ${from} to ${to}`)
    const live = await fixture.store.runs.live()
    const devices = live.flatMap(({ gpuDevices }) => gpuDevices)
    assert.equal(new Set(devices).size, devices.length)
    assert.ok(live.every(({ state }) => isLive(state)))
    assert.ok(faults.reasons.size > 10)
    await faults.close()
  })
}
