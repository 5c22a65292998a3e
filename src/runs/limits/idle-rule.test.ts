import assert from "node:assert/strict"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, it } from "node:test"
import { unsetLimits } from "#contract"
import type { ContainerStats, Engine } from "#engine"
import type { Limits, RunRow } from "#store"
import type { Runs, StartRequest } from "../index.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"
import { SteppedClock } from "../testing/stepped-clock.ts"

const minute = 60_000

/** A Jupyter server whose list of kernels a test sets. */
class TestJupyter implements AsyncDisposable {
  /** Answers `api/kernels` of a run. */
  kernels: (response: ServerResponse, run: number) => void = (response) => response.end("[]")
  /** The number of questions for each run. */
  readonly asked = new Map<number, number>()
  readonly #server = createServer((request, response) => {
    if (!request.url?.endsWith("/api/kernels")) return void response.end("{}")
    const run = Number(request.url.split("/")[2])
    this.asked.set(run, (this.asked.get(run) ?? 0) + 1)
    this.kernels(response, run)
  })

  async open(): Promise<{ host: string; port: number }> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    return { host: "127.0.0.1", port: (this.#server.address() as AddressInfo).port }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

interface Warning {
  id: number
  text: string
  endsAt: number | undefined
}

/** Runs with limits, a clock that the test advances, and the warnings that were sent. */
class IdleFixture implements AsyncDisposable {
  readonly clock: SteppedClock
  readonly fixture: RunsFixture
  readonly jupyter: TestJupyter
  readonly engine: Engine
  readonly warnings: Warning[] = []
  /** Changes the engine's figures. */
  figures: (stats: ContainerStats) => ContainerStats = (stats) => stats

  private constructor(parts: { clock: SteppedClock; fixture: RunsFixture; jupyter: TestJupyter; engine: Engine }) {
    this.clock = parts.clock
    this.fixture = parts.fixture
    this.jupyter = parts.jupyter
    this.engine = parts.engine
    const stats = this.engine.stats.bind(this.engine)
    this.engine.stats = async (signal) => (await stats(signal)).map((each) => this.figures(each))
  }

  /** `limits` of each person, or of the only one. */
  static async open(
    limits: Partial<Limits> | Partial<Limits>[],
    options: { isJupyter?: boolean; mockGpus?: number } = {},
  ): Promise<IdleFixture> {
    const clock = new SteppedClock()
    const { isJupyter = false, mockGpus = 0 } = options
    const fixture = await RunsFixture.open({
      clock,
      mockGpus,
      people: Math.max(3, [limits].flat().length),
      // The clock stands while samples are taken: the one with a rate must stay.
      settings: { sampleEveryMs: 10, maxSamples: 10_000 },
    })
    await fixture.store.change(async (tx) => {
      for (const [i, each] of [limits].flat().entries())
        await tx.users.update(fixture.users[i] ?? 0, { limits: { ...unsetLimits, ...each } })
    })
    const jupyter = new TestJupyter()
    const engine = await fixture.engine()
    const address = await jupyter.open()
    if (isJupyter) engine.address = async () => address
    return new IdleFixture({ clock, fixture, jupyter, engine })
  }

  runs(): Promise<Runs> {
    return this.fixture.runs({
      engine: this.engine,
      events: { warning: ({ id }, text, endsAt) => void this.warnings.push({ id, text, endsAt }) },
    })
  }

  async ready(runs: Runs, request: StartRequest = this.fixture.request("fake/http")): Promise<RunRow> {
    const run = await runs.waitUntilSettled((await runs.start(request)).id)
    assert.equal(run.state, "ready", JSON.stringify(run.reason))
    await this.#checked(runs, run.id)
    return run
  }

  startJupyter(runs: Runs, person = 0): Promise<RunRow> {
    return this.ready(runs, this.fixture.request("fake/http", { person, plan: { type: "jupyterlab" } }))
  }

  /** Advances the clock, and waits until the limits were enforced since. */
  async pass(runs: Runs, id: number, ms: number): Promise<void> {
    this.clock.advance(ms)
    await this.#checked(runs, id)
  }

  /** The same by steps, so that warnings come at their time. */
  async passSlowly(runs: Runs, id: number, ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 9 * minute) await this.pass(runs, id, Math.min(left, 9 * minute))
  }

  async #checked(runs: Runs, id: number): Promise<void> {
    let seen = (await runs.usageSamples(id)).at(-1)
    for (let i = 0; i < 3; i += 1) {
      await eventually("the run was sampled", async () => {
        const last = (await runs.usageSamples(id)).at(-1)
        const isNew = last !== seen
        seen = last
        return isNew || (await this.stateOf(id)) !== "ready"
      })
    }
  }

  async stateOf(id: number): Promise<string> {
    const { state, reason } = await this.fixture.row(id)
    return reason?.code ?? state
  }

  async isOver(id: number): Promise<void> {
    await eventually("the run has ended", async () => (await this.fixture.row(id)).state === "ended")
    assert.equal(await this.stateOf(id), "idle")
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture[Symbol.asyncDispose]()
    await this.jupyter[Symbol.asyncDispose]()
  }
}

const brokenAnswers: Record<string, (response: ServerResponse) => void> = {
  "an error": (response) => response.writeHead(500).end("[]"),
  "a refusal": (response) => response.writeHead(403).end('{"message": "Forbidden"}'),
  "no JSON": (response) => response.end("<html>"),
  "no list": (response) => response.end("{}"),
  "a list of something else": (response) => response.end('["kernel"]'),
  "half of a list": (response) => response.end('[{"execution_state": "idle"'),
  "a closed connection": (response) => response.destroy(),
  "an endless answer": (response) => {
    response.on("error", () => {})
    for (let i = 0; i < 40; i += 1) response.write(" ".repeat(65_536))
  },
  nothing: () => {},
}

describe("limits of idle time", { concurrency: true }, () => {
  it("an idle run gets a warning with the time, 10 minutes before its end", async () => {
    await using idle = await IdleFixture.open({ IdleMinutes: 60 })
    await using runs = await idle.runs()
    const { id } = await idle.ready(runs)
    await idle.pass(runs, id, 49 * minute)
    assert.deepEqual([idle.warnings, runs.idleEnd(id)], [[], undefined])
    await idle.pass(runs, id, minute)
    const endsAt = idle.clock.now() + 10 * minute
    assert.deepEqual(
      idle.warnings.map((warning) => warning.endsAt),
      [endsAt],
    )
    assert.match(idle.warnings[0]?.text ?? "", /^Nobody uses the run, .* it is stopped at 2026-01-01T01:00:/)
    assert.equal(runs.idleEnd(id), endsAt)
    await idle.pass(runs, id, 10 * minute - 1_000)
    assert.equal(await idle.stateOf(id), "ready")
    idle.clock.advance(1_000)
    await idle.isOver(id)
    assert.equal(idle.warnings.length, 1)
  })

  it("a warning comes 10 minutes before the end if the limit is longer than that, otherwise half of the limit before", async () => {
    const limits = [11, 10, 4]
    await using idle = await IdleFixture.open(limits.map((IdleMinutes) => ({ IdleMinutes })))
    await using runs = await idle.runs()
    const started = []
    for (const person of limits.keys()) started.push(await idle.ready(runs, idle.fixture.request("fake/http", { person })))
    const [first, , last] = started.map(({ id }) => id)
    assert.ok(first && last)
    const passed: [id: number, minutes: number][] = []
    for (let at = 1; at <= 5; at += 1) {
      await idle.pass(runs, last, minute - 1_000)
      const early = idle.warnings.length
      await idle.pass(runs, last, 1_000)
      const sent = idle.warnings.slice(passed.length)
      assert.equal(early, passed.length, "no warning came before its minute")
      for (const { id, endsAt } of sent) {
        passed.push([id - first, at])
        assert.equal(((endsAt ?? 0) - idle.clock.now()) / minute, [10, 5, 2][id - first])
      }
      if (at === 3) runs.markActive(last)
    }
    assert.deepEqual(passed, [
      [0, 1],
      [2, 2],
      [1, 5],
      [2, 5],
    ])
  })

  it("a keep request after the warning gives the whole idle time again", async () => {
    await using idle = await IdleFixture.open({ IdleMinutes: 60 })
    await using runs = await idle.runs()
    const { id } = await idle.ready(runs)
    await idle.pass(runs, id, 59 * minute)
    assert.equal((await runs.keepAlive(id))?.lastActivity, idle.clock.now())
    assert.equal(runs.idleEnd(id), undefined)
    await idle.passSlowly(runs, id, 49 * minute)
    assert.equal(idle.warnings.length, 1)
    await idle.pass(runs, id, minute)
    assert.equal(idle.warnings.length, 2)
    assert.equal(await idle.stateOf(id), "ready")
  })

  it("the lowest of the project's and the person's limits counts", async () => {
    const limits = [
      [60, 30],
      [30, 60],
      [null, 30],
      [30, undefined],
    ] as const
    await using idle = await IdleFixture.open(limits.map(([person]) => ({ IdleMinutes: person, MaxRunHours: person })))
    await using runs = await idle.runs()
    const started = []
    for (const [person, [, project]] of limits.entries()) {
      const plan = project === undefined ? {} : { idleMinutes: project, maxRunHours: project }
      started.push(await idle.ready(runs, idle.fixture.request("fake/http", { person, plan })))
    }
    for (const { startTime, expiresAt } of started) assert.equal(expiresAt, (startTime ?? 0) + 30 * 60 * minute)
    await idle.pass(runs, started[0]?.id ?? 0, 20 * minute)
    const endsAt = idle.clock.now() + 10 * minute
    assert.deepEqual(
      idle.warnings.map((warning) => [warning.id, warning.endsAt]).sort(),
      started.map(({ id }) => [id, endsAt]),
    )
  })

  it("a queued run gets its project's longest time when it starts", async () => {
    await using idle = await IdleFixture.open({})
    await using runs = await idle.runs()
    const big = { cpus: 64, plan: { maxRunHours: 5 } }
    const first = await idle.ready(runs, idle.fixture.request("fake/http", { ...big, person: 1 }))
    const { id, state } = await runs.start(idle.fixture.request("fake/http", big))
    assert.equal(state, "queued")
    idle.clock.advance(30 * minute)
    await runs.stop(first.id, { by: "stopped_by_user" })
    const run = await runs.waitUntilSettled(id)
    assert.equal(run.expiresAt, idle.clock.now() + 300 * minute)
  })

  it("a busy kernel and its last computation keep a run, and an idle kernel does not", async () => {
    await using idle = await IdleFixture.open({ IdleMinutes: 60 }, { isJupyter: true })
    await using runs = await idle.runs()
    const { id } = await idle.startJupyter(runs)
    let kernel: object = { execution_state: "busy", last_activity: "2026-01-01T00:00:00Z" }
    idle.jupyter.kernels = (response) => response.end(JSON.stringify([{ execution_state: "idle" }, kernel]))
    await idle.passSlowly(runs, id, 100 * minute)
    assert.deepEqual([idle.warnings, await idle.stateOf(id)], [[], "ready"])
    kernel = { execution_state: "idle", last_activity: new Date(idle.clock.now() + 20 * minute).toISOString() }
    await idle.pass(runs, id, 55 * minute)
    assert.deepEqual(idle.warnings, [], "it computed 35 minutes ago")
    await idle.pass(runs, id, 15 * minute)
    assert.equal(idle.warnings.length, 1)
    await idle.pass(runs, id, 10 * minute)
    await idle.isOver(id)
  })

  it("a run whose program answers the question for its kernels with an error, rubbish or nothing is not ended", async () => {
    const names = Object.keys(brokenAnswers)
    await using idle = await IdleFixture.open(
      names.map(() => ({ IdleMinutes: 20 })),
      { isJupyter: true },
    )
    await using runs = await idle.runs()
    const broken = new Map<number, string>()
    for (const [person, name] of names.entries()) broken.set((await idle.startJupyter(runs, person)).id, name)
    idle.jupyter.kernels = (response, run) => brokenAnswers[broken.get(run) ?? ""]?.(response)
    for (let requestCount = 1; requestCount <= 2; requestCount += 1) {
      idle.clock.advance(60 * minute)
      // The question to the program that hangs is repeated after its time-out.
      for (const [id, name] of broken)
        await eventually(`${name} was answered ${requestCount} times`, () => (idle.jupyter.asked.get(id) ?? 0) >= requestCount)
    }
    assert.deepEqual([idle.warnings, await runs.findIdle(1)], [[], []])
    for (const [id, name] of broken) assert.equal(await idle.stateOf(id), "ready", name)
  })

  it("a run whose program fails to answer after the warning is warned again before its end", async () => {
    await using idle = await IdleFixture.open({ IdleMinutes: 60 }, { isJupyter: true })
    await using runs = await idle.runs()
    const { id } = await idle.startJupyter(runs)
    await idle.pass(runs, id, 52 * minute)
    assert.equal(idle.warnings.length, 1)
    idle.jupyter.kernels = (response) => response.writeHead(503).end()
    await idle.pass(runs, id, 60 * minute)
    idle.jupyter.kernels = (response) => response.end("[]")
    await idle.pass(runs, id, minute)
    assert.deepEqual([idle.warnings.length, await idle.stateOf(id)], [2, "ready"])
    await idle.pass(runs, id, 10 * minute)
    await idle.isOver(id)
  })

  it("a run whose figures are missing is not ended, and its work meanwhile counts", async () => {
    await using idle = await IdleFixture.open({ IdleMinutes: 20 })
    await using runs = await idle.runs()
    const { id, key } = await idle.ready(runs)
    idle.figures = (stats) => ({ ...stats, cpuSeconds: null })
    for (let hour = 0; hour < 3; hour += 1) await idle.pass(runs, id, 60 * minute)
    assert.deepEqual([idle.warnings, await idle.stateOf(id), await runs.findIdle(1)], [[], "ready", []])
    idle.figures = (stats) => ({ ...stats, cpuSeconds: stats.key === key ? 7_200 : 0 })
    const backAt = idle.clock.now()
    await eventually("it counts as active", () => runs.lastActivity(id) === backAt)
  })

  it("a run with a GPU of unknown use is not ended; one with an idle GPU is", async () => {
    await using idle = await IdleFixture.open({ IdleMinutes: 20 }, { mockGpus: 1 })
    await using runs = await idle.runs()
    const { id } = await idle.ready(runs, idle.fixture.request("fake/http", { gpus: 1 }))
    for (let hour = 0; hour < 3; hour += 1) await idle.pass(runs, id, 60 * minute)
    assert.deepEqual([idle.warnings, await idle.stateOf(id)], [[], "ready"])
    idle.figures = (stats) => ({ ...stats, gpuBusy: 0 })
    await idle.pass(runs, id, minute)
    assert.equal(idle.warnings.length, 1)
    await idle.pass(runs, id, 10 * minute)
    await idle.isOver(id)
  })

  it("a restart of Quayside gives an idle run its whole time again", async () => {
    await using idle = await IdleFixture.open({ IdleMinutes: 60 })
    const first = await idle.runs()
    const { id } = await idle.ready(first)
    await idle.pass(first, id, 55 * minute)
    assert.equal(idle.warnings.length, 1)
    await first.close()
    idle.clock.advance(600 * minute)
    await using second = await idle.runs()
    await idle.pass(second, id, 0)
    await idle.passSlowly(second, id, 49 * minute)
    assert.deepEqual([idle.warnings.length, await idle.stateOf(id)], [1, "ready"])
    await idle.pass(second, id, minute)
    assert.equal(idle.warnings.length, 2)
    await idle.pass(second, id, 10 * minute)
    await idle.isOver(id)
  })

  it("a jump of the system's time ends no run, neither forwards nor backwards, before nor after a warning", async () => {
    for (const jump of [24 * 60 * minute, -24 * 60 * minute]) {
      await using idle = await IdleFixture.open({ IdleMinutes: 60, MaxRunHours: 10 })
      await using runs = await idle.runs()
      const { id } = await idle.ready(runs)
      runs.markActive(id)
      idle.clock.jump(jump)
      await idle.pass(runs, id, minute)
      assert.equal(await idle.stateOf(id), "ready")
      idle.clock.jump(-jump)
      await idle.pass(runs, id, 50 * minute)
      assert.equal(idle.warnings.at(-1)?.endsAt, idle.clock.now() + 10 * minute)
      idle.clock.jump(jump)
      await idle.pass(runs, id, 8 * minute)
      assert.equal(await idle.stateOf(id), "ready")
      runs.markActive(id)
      await idle.pass(runs, id, 8 * minute)
      assert.equal(await idle.stateOf(id), "ready")
    }
  })

  it("a dry run lists the runs that a rule would end, newest first, and ends and warns nobody", async () => {
    await using idle = await IdleFixture.open({}, { isJupyter: true })
    await using runs = await idle.runs()
    idle.jupyter.kernels = (response) => response.end('[{"execution_state": "idle"}]')
    const unused = await idle.startJupyter(runs)
    const used = await idle.startJupyter(runs, 1)
    const busy = await idle.ready(runs, idle.fixture.request("fake/busy", { person: 2 }))
    await idle.pass(runs, busy.id, 30 * minute)
    runs.markActive(used.id)
    await idle.pass(runs, busy.id, 30 * minute)
    const found = async (minutes: number) => (await runs.findIdle(minutes)).map(({ run, idleMs }) => [run.id, Math.floor(idleMs / minute)])
    assert.deepEqual(await found(60), [[unused.id, 60]])
    assert.deepEqual(await found(61), [])
    assert.deepEqual(await found(30), [
      [used.id, 30],
      [unused.id, 60],
    ])
    idle.jupyter.kernels = (response) => response.end('[{"execution_state": "busy"}]')
    assert.deepEqual(await found(10), [])
    assert.deepEqual(idle.warnings, [])
    for (const { id } of [unused, used, busy]) assert.equal(await idle.stateOf(id), "ready")
  })
})
