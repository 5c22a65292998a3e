import assert from "node:assert/strict"
import { mkdir, readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { createLogger } from "#kit"
import { startDockerEngine, type TestDockerEngine } from "../../../test/fixtures/docker/docker-engine.ts"
import { specOf } from "../../../test/fixtures/run-spec.ts"
import { EngineError } from "../engine.ts"
import { containerName, runLabels } from "./containers/labels.ts"
import { Shell } from "./host/shell.ts"
import { MountPins } from "./mounts/mount-pins.ts"

const never = new AbortController().signal
const ignore = () => {}

let rig: TestDockerEngine
let source: string
before(async () => {
  rig = await startDockerEngine()
  source = await rig.directory("data")
})
after(() => rig[Symbol.asyncDispose]())

const sleeper = () => specOf({ image: rig.image, command: ["sleep", "1000"], mounts: [{ source, target: "/data", readOnly: true }] })
const pinsOf = (key: string) =>
  new MountPins(rig, new Shell()).pin(
    { key, mounts: [{ source, target: "/data", readOnly: true }], files: {}, uid: 1000, gid: 1000 },
    never,
  )
const create = async (spec: ReturnType<typeof sleeper>, instance = rig.instance) => {
  const labels = Object.entries(runLabels(spec, instance)).flatMap(([name, value]) => ["--label", `${name}=${value}`])
  return rig.docker("create", "--name", containerName(spec.key), ...labels, rig.image, "sleep", "1000")
}
const assertNothingStaged = async () => {
  assert.deepEqual(await readdir(rig.stagingDir), [])
  assert.doesNotMatch(await readFile("/proc/self/mountinfo", "utf8"), new RegExp(rig.stagingDir))
}

describe("pins after a failure", () => {
  test("an observation releases the pins of a killed start", async () => {
    await pinsOf("a".repeat(32))
    await mkdir(join(rig.stagingDir, "b".repeat(32)))
    await rig.engine.observe()
    await assertNothingStaged()
  })

  test("observations do not disturb the check of the right to mount", async () => {
    for (let round = 0; round < 20; round += 1) {
      const observing = async () => {
        for (let n = 0; n < 4; n += 1) await rig.engine.observe()
      }
      await Promise.all([rig.engine.prepare(), observing()])
    }
    await assertNothingStaged()
  })

  test("concurrent observations release leftover pins once, and never those of a start in progress", async () => {
    const faults: string[] = []
    await using engine = await rig.open({ stagingDir: rig.stagingDir, logger: createLogger("error", (line) => void faults.push(line)) })
    for (let round = 0; round < 3; round += 1) {
      const specs = Array.from({ length: 3 }, sleeper)
      for (const { key } of specs) await pinsOf(key)
      const starting = async (spec: ReturnType<typeof sleeper>) => {
        await engine.observe()
        await engine.start(spec, ignore, never)
      }
      await Promise.all([...specs.map(starting), engine.observe(), engine.observe()])
      await Promise.all(specs.map(({ key }) => engine.stop(key, { graceMs: 0 })))
      await assertNothingStaged()
    }
    assert.deepEqual(faults, [])
  })

  test("concurrent observations leave the pins alone by which a server checks that it may mount", async () => {
    const faults: string[] = []
    await using engine = await rig.open({ stagingDir: rig.stagingDir, logger: createLogger("warn", (line) => void faults.push(line)) })
    for (let round = 0; round < 10; round += 1) {
      let isOver = false
      const checking = engine.prepare().finally(() => (isOver = true))
      while (!isOver) await engine.observe()
      await checking
    }
    // A daemon without live-restore is warned about.
    assert.deepEqual(
      faults.filter((line) => !line.includes("live-restore")),
      [],
    )
    await assertNothingStaged()
  })

  test("the pins of a created container remain until it is started or stopped", async () => {
    const [started, stopped] = [sleeper(), sleeper()]
    for (const spec of [started, stopped]) {
      await create(spec)
      await pinsOf(spec.key)
    }
    const seen = await rig.engine.observe()
    assert.deepEqual(
      seen.map((run) => run.state),
      ["created", "created"],
    )
    assert.equal((await readdir(rig.stagingDir)).length, 2)
    await rig.engine.stop(stopped.key)
    await rig.engine.start(started, ignore, never)
    await assertNothingStaged()
    assert.deepEqual(
      (await rig.engine.observe()).map((run) => [run.key, run.state]),
      [[started.key, "running"]],
    )
    await rig.engine.stop(started.key, { graceMs: 0 })
  })
})

describe("other engines and users of the daemon", () => {
  test("another instance's container of the same name is neither replaced nor stopped", async () => {
    const spec = sleeper()
    const id = await create(spec, "somebody-else")
    await assert.rejects(rig.engine.start(spec, ignore, never), { code: "engine_error" })
    await rig.engine.stop(spec.key)
    assert.equal(await rig.docker("inspect", "--format", "{{.Id}}", containerName(spec.key)), id)
    await rig.docker("rm", id)
  })

  test("a start creates a removed network again", async () => {
    const spec = sleeper()
    await rig.engine.start(spec, ignore, never)
    await rig.engine.stop(spec.key, { graceMs: 0 })
    for (const network of await rig.networks()) await rig.docker("network", "rm", network)
    await rig.engine.start(spec, ignore, never)
    await rig.engine.stop(spec.key, { graceMs: 0 })
  })

  test("two engines of one instance start many runs at once", async () => {
    for (const network of await rig.networks()) await rig.docker("network", "rm", network)
    await using other = await rig.open()
    const specs = Array.from({ length: 6 }, sleeper)
    await Promise.all(specs.map((spec, n) => (n % 2 ? rig.engine : other).start(spec, ignore, never)))
    assert.equal((await rig.engine.observe()).length, 6)
    await Promise.all(specs.map((spec) => rig.engine.stop(spec.key, { graceMs: 0 })))
    assert.equal((await rig.engine.observe()).length, 0)
  })

  test("the logs of a removed run end, and it is no longer observed", async () => {
    const spec = sleeper()
    await rig.engine.start(spec, ignore, never)
    const logs = Array.fromAsync(rig.engine.logs(spec.key, { follow: true }))
    await rig.docker("rm", "--force", containerName(spec.key))
    await logs
    assert.deepEqual(await rig.engine.observe(), [])
    await rig.engine.stop(spec.key)
  })
})

describe("an aborted start", () => {
  test("a start that is aborted at any point leaves nothing", async () => {
    const outcomes = { aborted: 0, started: 0 }
    for (let n = 0; n < 24; n += 1) {
      const spec = sleeper()
      const controller = new AbortController()
      const abort = sleep(n * 20, undefined, { signal: never }).then(() => controller.abort(new Error("enough")))
      const failure = await rig.engine.start(spec, ignore, controller.signal).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (failure === undefined) {
        outcomes.started += 1
        await rig.engine.stop(spec.key, { graceMs: 0 })
      } else {
        outcomes.aborted += 1
        assert.match(String(failure), /enough/)
      }
      await abort
      assert.deepEqual(await rig.docker("ps", "--all", "--quiet", "--filter", `name=${spec.key}`), "", `aborted after ${n * 20} ms`)
      await assertNothingStaged()
    }
    assert.ok(outcomes.aborted > 0, JSON.stringify(outcomes))
  })

  test("a start that is stopped leaves nothing", async () => {
    for (let n = 0; n < 10; n += 1) {
      const spec = sleeper()
      const start = rig.engine.start(spec, ignore, never).catch((error: unknown) => error)
      await sleep(n * 40)
      await rig.engine.stop(spec.key, { graceMs: 0 })
      const failure = await start
      assert.ok(
        failure instanceof EngineError || (typeof failure === "object" && failure !== null && "imageDigest" in failure),
        String(failure),
      )
      assert.equal(await rig.docker("ps", "--all", "--quiet", "--filter", `name=${spec.key}`), "")
      await assertNothingStaged()
    }
  })
})

describe("an engine of a process that another one has replaced", () => {
  test("leaves the container that the other one started when its own start fails", async () => {
    let isLeader = true
    await using slow = await rig.open({ stagingDir: rig.stagingDir, isLeader: () => isLeader })
    const spec = sleeper()
    const replaced = slow.start(spec, ignore, never, async () => {
      isLeader = false
      await rig.engine.start(spec, ignore, never)
      throw new EngineError("engine_error", "Another process supervises the runs")
    })
    await assert.rejects(replaced, /Another process supervises/)
    const [seen] = (await rig.engine.observe()).filter(({ key }) => key === spec.key)
    assert.equal(seen?.state, "running")
    await rig.engine.stop(spec.key, { graceMs: 0 })
  })

  test("releases no pins, and the leader does", async () => {
    await using standby = await rig.open({ stagingDir: rig.stagingDir, isLeader: () => false })
    await pinsOf("c".repeat(32))
    await standby.observe()
    assert.deepEqual(await readdir(rig.stagingDir), ["c".repeat(32)])
    await rig.engine.observe()
    await assertNothingStaged()
  })
})
