import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { WebSocket } from "ws"
import { ManualClock } from "#kit"
import { specOf } from "../../../test/fixtures/run-spec.ts"
import type { Engine, RunSpec, StartStep } from "../engine.ts"
import { behaviourOf } from "./behaviour.ts"
import { FakeDaemon } from "./fake-daemon.ts"
import { FakeEngine } from "./fake-engine.ts"

const never = new AbortController().signal
const ignore = () => {}

test("an image's name chooses its behaviour and argument; any other name serves HTTP", () => {
  assert.deepEqual([behaviourOf("fake/exits").argument, behaviourOf("fake/exits:7").argument], [1, 7])
  for (const image of ["quayside/jupyterlab:latest", "fake/unheard-of", "x/fake/exits/y", "fake/toString"])
    assert.equal(behaviourOf(image).name, "http")
})

for (const [image, code] of Object.entries({
  "fake/missing": "image_not_found",
  "fake/denied": "image_pull_denied",
  "fake/broken": "image_pull_failed",
  "fake/no-command": "command_not_found",
  "fake/disk-full": "disk_full",
  "fake/engine-error": "engine_error",
})) {
  test(`a start of ${image} fails with ${code}`, async () => {
    await using daemon = await FakeDaemon.open()
    const engine = new FakeEngine({ daemon, instance: "one" })
    await assert.rejects(engine.start(specOf({ image }), ignore, never), { code })
    assert.deepEqual(await engine.observe(), [])
  })
}

test("a start with a digest has that image after its tag moved, also when the engine lost it", async () => {
  await using daemon = await FakeDaemon.open()
  const engine = new FakeEngine({ daemon, instance: "one" })
  const image = "fake/http"
  const start = async (earlier: Partial<RunSpec>) => (await engine.start(specOf({ image, ...earlier }), ignore, never)).imageDigest
  const { digest: imageDigest, registryDigest } = await engine.pull(image, {
    policy: specOf({ image }).imagePolicy,
    report: ignore,
    signal: never,
  })
  daemon.movedTags.set(image, 1)
  await engine.pull(image, { policy: specOf({ image }).imagePolicy, report: ignore, signal: never })
  assert.notEqual(await start({}), imageDigest)
  assert.equal(await start({ imageDigest }), imageDigest)
  daemon.storedImages.delete(imageDigest)
  await assert.rejects(start({ imageDigest }), { code: "image_unavailable" })
  assert.equal(await start({ imageDigest, registryDigest }), imageDigest)
})

for (const state of ["pulling", "creating", "starting"] as const) {
  const image = { pulling: "fake/stuck-pull", creating: "fake/stuck-create", starting: "fake/stuck-start" }[state]
  test(`a start of ${image} hangs in ${state} until it is aborted`, async () => {
    await using daemon = await FakeDaemon.open()
    const engine = new FakeEngine({ daemon, instance: "one" })
    const controller = new AbortController()
    const steps: StartStep[] = []
    const start = engine.start(specOf({ image }), (step) => steps.push(step), controller.signal)
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort(new Error("enough"))
    await assert.rejects(start, /enough/)
    assert.equal(steps.at(-1)?.state, state)
    assert.deepEqual(await engine.observe(), [])
  })
}

test("a slow pull follows the daemon's clock and is not repeated", async () => {
  const clock = new ManualClock()
  await using daemon = await FakeDaemon.open({ clock })
  const engine = new FakeEngine({ daemon, instance: "one" })
  const sums: number[] = []
  const start = engine.start(specOf({ image: "fake/slow-pull:1000" }), (step) => sums.push(step.progress?.current ?? 0), never)
  for (let n = 0; n < 10; n += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(100)
  }
  await start
  assert.equal(Math.max(...sums), 10_000_000)
  await engine.start(specOf({ image: "fake/slow-pull:1000" }), ignore, never)
})

test("an unreachable daemon rejects every call, keeps its state and notifies the watcher when it is back", async () => {
  await using daemon = await FakeDaemon.open()
  const engine = new FakeEngine({ daemon, instance: "one" })
  const spec = await started(engine, "fake/http")
  daemon.reachable = false
  for (const call of [
    engine.ping(),
    engine.observe(),
    engine.stop(spec.key),
    engine.start(specOf({ image: "fake/http" }), ignore, never),
  ]) {
    await assert.rejects(call, { code: "engine_unreachable" })
  }
  const controller = new AbortController()
  let notifications = 0
  const watching = engine.watch(() => (notifications += 1), controller.signal)
  assert.equal(notifications, 0)
  daemon.reachable = true
  assert.equal(notifications, 1)
  assert.equal((await engine.observe())[0]?.state, "running")
  controller.abort()
  await watching
})

test("running programs serve again, and ended ones stay ended, after the state directory is reopened", async () => {
  const stateDir = await mkdtemp(join(tmpdir(), "quayside-fake-"))
  try {
    const first = await FakeDaemon.open({ stateDir })
    const engine = new FakeEngine({ daemon: first, instance: "one" })
    const [serving, ended] = [await started(engine, "fake/http"), await started(engine, "fake/http")]
    await first.exit(ended.key, 5)
    const before = await engine.observe()
    await first[Symbol.asyncDispose]()

    await using second = await FakeDaemon.open({ stateDir })
    const repeated = new FakeEngine({ daemon: second, instance: "one" })
    assert.deepEqual(await repeated.observe(), before)
    assert.equal((await page(repeated, serving, "/")).status, 200)
  } finally {
    await rm(stateDir, { recursive: true })
  }
})

test("a program echoes, exits, logs and accepts WebSockets, with and without a prefix", async () => {
  await using daemon = await FakeDaemon.open()
  const engine = new FakeEngine({ daemon, instance: "one" })
  const spec = await started(engine, "fake/http")
  const echo = (await (await page(engine, spec, "/run/7/echo?a=1", { method: "POST", body: "hello" })).json()) as {
    url: string
    body: string
  }
  assert.deepEqual([echo.url, echo.body], ["/run/7/echo?a=1", "hello"])
  await page(engine, spec, "/log/hello%20there")
  assert.ok((await Array.fromAsync(engine.logs(spec.key))).some((line) => line.text === "hello there"))
  assert.equal(await firstMessage(engine, spec, "/any", "ping"), "ping")
  assert.equal(await firstMessage(engine, spec, "/run/7/websockify"), "RFB 003.008\n")
  await page(engine, spec, "/exit/4")
  assert.deepEqual(
    (await engine.observe()).map((run) => [run.state, run.exitCode]),
    [["exited", 4]],
  )
})

test("an unhealthy program returns 500", async () => {
  await using daemon = await FakeDaemon.open()
  const engine = new FakeEngine({ daemon, instance: "one" })
  assert.equal((await page(engine, await started(engine, "fake/unhealthy"), "/")).status, 500)
})

test("a stop of fake/stuck-stop hangs until it is aborted", async () => {
  await using daemon = await FakeDaemon.open()
  const engine = new FakeEngine({ daemon, instance: "one" })
  const spec = await started(engine, "fake/stuck-stop")
  await assert.rejects(engine.stop(spec.key, { signal: AbortSignal.timeout(10) }), { name: "TimeoutError" })
  assert.equal((await engine.observe())[0]?.state, "running")
})

test("mock GPUs are assigned by ID", async () => {
  await using daemon = await FakeDaemon.open()
  const engine = new FakeEngine({ daemon, instance: "one", mockGpus: 2 })
  assert.deepEqual(
    (await engine.capacity())[0]?.gpus.map((gpu) => gpu.id),
    ["mock-0", "mock-1"],
  )
  const answer = await engine.start(specOf({ image: "fake/http", gpus: ["mock-1"] }), ignore, never)
  assert.deepEqual(answer.gpuDevices, ["mock-1"])
})

async function started(engine: Engine, image: string): Promise<RunSpec> {
  const spec = specOf({ image })
  await engine.start(spec, ignore, never)
  return spec
}

async function page(engine: Engine, spec: RunSpec, path: string, init?: RequestInit): Promise<Response> {
  const address = await engine.address(spec.key, spec.port)
  return fetch(`http://${address?.host}:${address?.port}${path}`, init)
}

async function firstMessage(engine: Engine, spec: RunSpec, path: string, text?: string): Promise<string> {
  const address = await engine.address(spec.key, spec.port)
  const socket = new WebSocket(`ws://${address?.host}:${address?.port}${path}`)
  const message = new Promise<string>((resolve, reject) => {
    socket.on("message", (data) => resolve(String(data)))
    socket.on("error", reject)
  })
  if (text !== undefined) socket.on("open", () => socket.send(text))
  const received = await message
  socket.terminate()
  return received
}
