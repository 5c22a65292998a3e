import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { after, before, test } from "node:test"
import { WebSocket } from "ws"
import { unsetLimits } from "#contract"
import { type Clock, systemClock } from "#kit"
import type { RunRow } from "#store"
import type { RunSettingsOptions, Runs } from "../index.ts"
import { DockerFixture } from "../testing/docker-fixture.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"
import { SteppedClock } from "../testing/stepped-clock.ts"

const minute = 60_000
const settings = {
  graceMs: 500,
  observeEveryMs: 1_000,
  sampleEveryMs: 200,
  layersEveryMs: 0,
  maxSamples: 10,
  timeoutsMs: { pulling: 60_000, creating: 30_000, starting: 60_000, stopping: 20_000 },
}

let docker: DockerFixture
before(async () => {
  docker = await DockerFixture.open()
})
after(() => docker[Symbol.asyncDispose]())

/** Runs of one person with limits, and the warnings that were sent. */
async function open(limits: Partial<typeof unsetLimits>, { clock = systemClock, ...given }: RunSettingsOptions & { clock?: Clock } = {}) {
  const fixture = await RunsFixture.open({ settings: { ...settings, ...given }, clock })
  await fixture.store.change((tx) => tx.users.update(fixture.users[0] ?? 0, { limits: { ...unsetLimits, ...limits } }))
  const warnings: string[] = []
  const runs = await fixture.runs({ engine: await docker.engine(), events: { warning: (_, text) => void warnings.push(text) } })
  const shell = (script: string) =>
    fixture.request("quayside/python-app", { memoryMiB: 256, plan: docker.plan({ command: ["sh", "-c", script] }) })
  return {
    fixture,
    runs,
    warnings,
    shell,
    async [Symbol.asyncDispose]() {
      for (const { id } of runs.targets()) await runs.stop(id, { by: "stopped_by_user" })
      await runs.close()
      await fixture[Symbol.asyncDispose]()
    },
  }
}

async function ready(runs: Runs, request: Parameters<Runs["start"]>[0]): Promise<RunRow> {
  const run = await runs.waitUntilSettled((await runs.start(request)).id)
  assert.equal(run.state, "ready", JSON.stringify(run.reason))
  return run
}

const over = async (fixture: RunsFixture, { id, key }: RunRow): Promise<string | undefined> => {
  await eventually("the run has ended", async () => (await fixture.row(id)).state === "ended", 30_000)
  assert.equal(await docker.containerOf(key), "")
  return (await fixture.row(id)).reason?.code
}

test("a run's usage is that of its container, and computing counts as activity", async () => {
  await using it = await open({})
  const run = await ready(it.runs, it.shell("python3 -m http.server 8000 & while :; do :; done"))
  const last = async () => (await it.runs.usageSamples(run.id)).at(-1)
  // Of two samples 200 ms apart one may be late, on a busy machine.
  const isBusy = (cpus: number | null | undefined) => cpus !== null && cpus !== undefined && cpus > 0.2 && cpus < 1.5
  await eventually(
    "its processor is seen to be busy, with no more than the CPU that it has",
    async () => isBusy((await last())?.cpus),
    30_000,
  )
  const before = await last()
  assert.ok(before && before.memory !== null && before.memory > 2 ** 20 && before.memory < 256 * 2 ** 20)
  await eventually("the run counts as active", () => (it.runs.lastActivity(run.id) ?? 0) > (run.readyTime ?? 0), 30_000)
  const address = it.runs.target(run.id)?.address
  await (await fetch(`http://${address?.host}:${address?.port}/`)).text()
  await eventually("its traffic is counted", async () => ((await last())?.networkOut ?? 0) > (before.networkOut ?? 0), 30_000)
  const seen = (await last())?.networkIn ?? 0
  const receivedBytes = Number(
    await docker.docker("exec", await docker.containerOf(run.key), "cat", "/sys/class/net/eth0/statistics/rx_bytes"),
  )
  assert.ok(seen > 0 && seen <= receivedBytes, `${seen} of ${receivedBytes}`)
})

test("a waiting program is below the activity thresholds", async () => {
  await using it = await open({})
  const run = await ready(it.runs, it.fixture.request("quayside/jupyterlab", { memoryMiB: 512, plan: docker.plan({ type: "jupyterlab" }) }))
  const quiet = async () => {
    const known = (await it.runs.usageSamples(run.id)).map(({ cpus }) => cpus).slice(-10)
    return known.length === 10 && known.every((cpus) => cpus !== null && cpus < 0.05)
  }
  await eventually("two seconds pass below the bound", quiet, 60_000)
})

test("a run ends at its maximum time and leaves no container", async () => {
  const clock = new SteppedClock()
  await using it = await open({ MaxRunHours: 1 }, { clock })
  const run = await ready(it.runs, it.shell("exec python3 -m http.server 8000"))
  clock.advance(50 * minute)
  await eventually("the run got a warning", () => it.warnings.length === 1, 30_000)
  clock.advance(10 * minute)
  assert.equal(await over(it.fixture, run), "max_time")
})

test("a run that writes too much to its own file system ends with `disk_full`", async () => {
  await using it = await open({ MaxDisk: 20 })
  const run = await ready(it.runs, it.shell("exec python3 -m http.server 8000"))
  // It is perhaps cut short by the very end that it brings about.
  const writing = docker.docker("exec", await docker.containerOf(run.key), "sh", "-c", "head -c 30000000 /dev/zero > /var/tmp/big")
  await writing.catch(() => {})
  assert.equal(await over(it.fixture, run), "disk_full")
})

test("a run that keeps filling its own file system ends with `disk_full`, and other runs continue", async () => {
  await using it = await open({ MaxDisk: 64 })
  const filling = "i=0; while :; do i=$((i + 1)); head -c 8000000 /dev/zero > /var/tmp/fill-$i; sleep 0.2; done"
  const neighbour = await ready(it.runs, it.fixture.request("quayside/python-app", { person: 1, memoryMiB: 256, plan: docker.plan({}) }))
  const run = await ready(it.runs, it.shell(`(${filling}) & exec python3 -m http.server 8000`))
  assert.equal(await over(it.fixture, run), "disk_full")
  assert.match((await it.fixture.row(run.id)).reason?.msg ?? "", /of 64 MiB that are allowed; this run wrote most$/)
  assert.equal((await it.fixture.row(neighbour.id)).state, "ready")
  const address = it.runs.target(neighbour.id)?.address
  assert.equal((await fetch(`http://${address?.host}:${address?.port}/`)).status, 200)
  await ready(it.runs, it.shell("exec python3 -m http.server 8000"))
})

test("a run that fills the disk between two measurements is measured early", async () => {
  await using it = await open({ MaxDisk: 64 }, { layersEveryMs: 3_600_000, layersAfterBytes: 2 ** 24 })
  const run = await ready(it.runs, it.shell("exec python3 -m http.server 8000"))
  await eventually("the run was sampled", async () => (await it.runs.usageSamples(run.id)).length > 0, 30_000)
  const writing = docker.docker("exec", await docker.containerOf(run.key), "sh", "-c", "head -c 300000000 /dev/zero > /var/tmp/big")
  await writing.catch(() => {})
  assert.equal(await over(it.fixture, run), "disk_full")
})

test("a Jupyter run with a busy kernel continues; when the kernel is idle the run gets a warning and ends with `idle`", async () => {
  // Jupyter reports times of the system's clock.
  const clock = new SteppedClock(Date.now())
  await using it = await open({ IdleMinutes: 10 }, { clock })
  const run = await ready(it.runs, it.fixture.request("quayside/jupyterlab", { memoryMiB: 512, plan: docker.plan({ type: "jupyterlab" }) }))
  await using kernel = await busyKernel(it.runs, run)
  for (let round = 0; round < 3; round += 1) {
    clock.advance(8 * minute)
    await eventually("the run counts as active", () => it.runs.lastActivity(run.id) === clock.now(), 30_000)
  }
  await kernel.interrupt()
  clock.advance(8 * minute)
  await eventually("the run got a warning", () => it.warnings.length === 1, 30_000)
  clock.advance(5 * minute)
  assert.equal(await over(it.fixture, run), "idle")
})

/** A kernel that sleeps and uses no processor, as one does that waits for another machine. */
async function busyKernel(runs: Runs, run: RunRow) {
  const target = runs.target(run.id)
  const headers = { ...target?.upstreamHeaders }
  const base = `${target?.address?.host}:${target?.address?.port}/run/${run.id}/api/kernels`
  const call = async (path: string, method = "GET") => fetch(`http://${base}${path}`, { method, headers })
  const { id } = (await (await call("", "POST")).json()) as { id: string }
  const socket = new WebSocket(`ws://${base}/${id}/channels`, { headers })
  await once(socket, "open")
  const stateIs = async (expected: string) =>
    ((await (await call(`/${id}`)).json()) as { execution_state: string }).execution_state === expected
  await eventually("the kernel is there", () => stateIs("idle"), 60_000)
  const header = { msg_id: randomUUID(), msg_type: "execute_request", session: randomUUID(), username: "", version: "5.3", date: "" }
  const content = { code: "import time; time.sleep(3600)", silent: false, store_history: false, user_expressions: {}, allow_stdin: false }
  socket.send(JSON.stringify({ header, parent_header: {}, metadata: {}, content, channel: "shell", buffers: [] }))
  await eventually("it sleeps", () => stateIs("busy"), 60_000)
  return {
    async interrupt() {
      await call(`/${id}/interrupt`, "POST")
      await eventually("it woke up", () => stateIs("idle"), 60_000)
    },
    async [Symbol.asyncDispose]() {
      socket.terminate()
    },
  }
}
