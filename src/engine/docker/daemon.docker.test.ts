import assert from "node:assert/strict"
import { readdir } from "node:fs/promises"
import { after, before, describe, test } from "node:test"
import { startDockerEngine, type TestDockerEngine } from "../../../test/fixtures/docker/docker-engine.ts"
import { type PrivateDaemon, privateDaemon } from "../../../test/fixtures/docker/dockerd.ts"
import { specOf } from "../../../test/fixtures/run-spec.ts"

const never = new AbortController().signal
const ignore = () => {}
const unreachable = { code: "engine_unreachable" }

let daemon: PrivateDaemon
let rig: TestDockerEngine
before(async () => {
  daemon = await privateDaemon({ dataMiB: 64 })
  await daemon.start()
  rig = await startDockerEngine({ socketPath: daemon.socketPath })
})
after(async () => {
  await rig[Symbol.asyncDispose]()
  await daemon[Symbol.asyncDispose]()
})
const sleeper = () => specOf({ image: rig.image, command: ["sh", "-c", "echo one; exec sleep 1000"] })

describe("a daemon that is killed", () => {
  test("every call rejects while the daemon is stopped, and the staging folder is empty", async () => {
    await daemon.kill("SIGKILL")
    await assert.rejects(rig.engine.ping(), unreachable)
    await assert.rejects(rig.engine.observe(), unreachable)
    await assert.rejects(rig.engine.capacity(), unreachable)
    await assert.rejects(rig.engine.start(sleeper(), ignore, never), unreachable)
    await assert.rejects(rig.engine.stop("a".repeat(32)), unreachable)
    await assert.rejects(rig.engine.address("a".repeat(32), 1), unreachable)
    await assert.rejects(Array.fromAsync(rig.engine.logs("a".repeat(32))), unreachable)
    assert.deepEqual(await readdir(rig.stagingDir), [])
    await daemon.start()
    await rig.engine.ping()
  })

  test("the same runs are observed after the daemon was killed, and the watcher is called", async () => {
    const spec = sleeper()
    await rig.engine.start(spec, ignore, never)
    const before = await rig.engine.observe()
    const controller = new AbortController()
    let notify = ignore
    const next = () => new Promise<void>((resolve) => (notify = resolve))
    const first = next()
    const watching = rig.engine.watch(() => notify(), controller.signal)
    await first
    const repeated = next()
    await daemon.kill("SIGKILL")
    await assert.rejects(rig.engine.observe(), unreachable)
    await daemon.start()
    await repeated
    assert.deepEqual(await rig.engine.observe(), before)
    assert.deepEqual(
      (await Array.fromAsync(rig.engine.logs(spec.key))).map((line) => line.text),
      ["one"],
    )
    controller.abort()
    await watching
    await rig.engine.stop(spec.key, { graceMs: 0 })
    assert.deepEqual(await rig.engine.observe(), [])
  })

  test("a second start completes one during which the daemon was killed", async () => {
    const spec = sleeper()
    const killed = rig.engine.start(spec, (step) => step.state === "starting" && void daemon.kill("SIGKILL"), never)
    await assert.rejects(killed, unreachable)
    await daemon.kill("SIGKILL")
    await daemon.start()
    await rig.engine.start(spec, ignore, never)
    assert.deepEqual(
      (await rig.engine.observe()).map((run) => [run.key, run.state]),
      [[spec.key, "running"]],
    )
    await rig.engine.stop(spec.key, { graceMs: 0 })
  })
})

describe("a daemon that hangs or has a full disk", () => {
  test("calls to a hung daemon reject as unreachable, or with the reason of their abort", { timeout: 60_000 }, async () => {
    await daemon.kill("SIGSTOP")
    const controller = new AbortController()
    const observing = rig.engine.observe(controller.signal)
    controller.abort(new Error("enough"))
    await assert.rejects(observing, /enough/)
    const image = rig.engine.image(rig.image, { verifyAccess: false, allowLocal: true })
    await Promise.all([assert.rejects(rig.engine.ping(), unreachable), assert.rejects(image, unreachable)])
    await daemon.kill("SIGCONT")
    await rig.engine.ping()
  })

  test("a start fails with disk_full, and succeeds when there is room again", async () => {
    const spec = sleeper()
    await daemon.fill()
    await assert.rejects(rig.engine.start(spec, ignore, never), { code: "disk_full" })
    await daemon.free()
    assert.deepEqual(await rig.engine.observe(), [])
    await rig.engine.start(spec, ignore, never)
    await rig.engine.stop(spec.key, { graceMs: 0 })
  })
})

test("a start fails when the daemon does not see the pins", async () => {
  await using daemon = await privateDaemon({ dataMiB: 64, ownMounts: true })
  await daemon.start()
  await using rig = await startDockerEngine({ socketPath: daemon.socketPath })
  const source = await rig.directory("data")
  const spec = specOf({ image: rig.image, command: ["sleep", "1000"], mounts: [{ source, target: "/data", readOnly: false }] })
  await assert.rejects(rig.engine.start(spec, ignore, never), { code: "engine_error", message: /mounted the wrong directory at \/data/ })
  assert.deepEqual(await rig.engine.observe(), [])
})
