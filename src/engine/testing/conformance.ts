import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { type Program, specOf } from "../../../test/fixtures/run-spec.ts"
import { type ContainerStats, type Engine, EngineError, type StartStep } from "../engine.ts"
import { type EngineUnderTest, fetchWhenListening, findRun, observeUntil, watchChanges } from "./engine-under-test.ts"
import { execTests } from "./exec-conformance.ts"
import { imageRemovalTests } from "./image-conformance.ts"
import { logTests } from "./log-conformance.ts"

/**
 * Tests the contract of `Engine`, the same for every adapter. A cluster chooses devices, keeps
 * images and has several nodes by itself, so what other engines do about these is not tested there.
 */
export function testEngineConformance(
  name: string,
  make: () => Promise<EngineUnderTest & AsyncDisposable>,
  options: { isCluster?: boolean } = {},
): void {
  describe(`the ${name} engine`, () => {
    let engineUnderTest: EngineUnderTest & AsyncDisposable
    before(async () => {
      engineUnderTest = await make()
    })
    after(async () => {
      for (const run of await engineUnderTest.engine.observe()) await engineUnderTest.engine.stop(run.key, { graceMs: 0 })
      await engineUnderTest[Symbol.asyncDispose]()
    })
    const subject = () => engineUnderTest

    startTests(subject)
    imageTests(subject)
    if (!options.isCluster) imageRemovalTests(subject)
    failureTests(subject)
    if (!options.isCluster) singleNodeTests(subject)
    completionTests(subject)
    stopTests(subject)
    observeTests(subject)
    endTests(subject)
    usageTests(subject, options)
    logTests(subject)
    execTests(subject)
  })
}

const never = new AbortController().signal
const ignore = () => {}

function startTests(subject: () => EngineUnderTest): void {
  test("starts a program that is reachable at its address", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    const steps: StartStep[] = []
    const started = await engine.start(spec, (step) => steps.push(step), never)
    assert.match(started.imageDigest, /^sha256:[0-9a-f]{64}$/)
    assert.equal(started.nodeNames.length, 1)
    assert.deepEqual(
      [...new Set(steps.map((step) => step.state))].filter((state) => state !== "pulling"),
      ["creating", "starting"],
    )
    assert.equal((await fetchWhenListening(engine, spec)).status, 200)
    await engine.stop(spec.key)
  })

  test("leaves a running program alone when it is started again", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    const [first, second] = await Promise.all([engine.start(spec, ignore, never), engine.start(spec, ignore, never)])
    const before = await findRun(engine, spec.key)
    assert.deepEqual(await engine.start(spec, ignore, never), first)
    assert.deepEqual(second, first)
    assert.equal((await findRun(engine, spec.key))?.startedAt, before?.startedAt)
    await engine.stop(spec.key)
  })

  test("leaves nothing when a start is aborted at any of its steps", async () => {
    const { engine, images } = subject()
    for (const state of ["creating", "starting"] as const) {
      const spec = specOf(images.serves)
      const controller = new AbortController()
      const start = engine.start(spec, (step) => step.state === state && controller.abort(new Error("no more")), controller.signal)
      await assert.rejects(start, /no more/)
      assert.equal(await findRun(engine, spec.key), undefined, state)
    }
  })

  test("rejects a start whose signal is already aborted", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    await assert.rejects(engine.start(spec, ignore, AbortSignal.abort(new Error("too late"))), /too late/)
    assert.equal(await findRun(engine, spec.key), undefined)
  })
}

function imageTests(subject: () => EngineUnderTest): void {
  const anyone = { verifyAccess: false, allowLocal: false }

  test("describes a local image and does not fetch a missing one", async () => {
    const { engine, images } = subject()
    assert.equal(await engine.image(images.missing.image, anyone), undefined)
    const spec = specOf(images.serves)
    const started = await engine.start(spec, ignore, never)
    const facts = await engine.image(images.serves.image, spec.imagePolicy)
    assert.equal(facts?.digest, started.imageDigest)
    assert.ok(facts.size > 0)
    await engine.stop(spec.key)
  })

  test("allows a locally built image only with `allowLocal`, and never replaces it", async () => {
    const { engine, localImage } = subject()
    const code = "image_unavailable"
    assert.ok(await engine.image(localImage, { verifyAccess: false, allowLocal: true }))
    await assert.rejects(engine.image(localImage, anyone), { code })
    await assert.rejects(engine.start(specOf({ image: localImage, imagePolicy: anyone }), ignore, never), { code })
    for (const local of [true, false])
      await assert.rejects(engine.pull(localImage, { policy: { verifyAccess: false, allowLocal: local }, report: ignore, signal: never }), {
        code,
      })
  })

  test("denies a forbidden registry, and reports an image that does not exist", async () => {
    const { engine, images } = subject()
    const pull = (image: string) => engine.pull(image, { policy: anyone, report: ignore, signal: never })
    await assert.rejects(pull("169.254.169.254/x/y"), { code: "image_pull_denied" })
    await assert.rejects(pull(images.missing.image), { code: "image_not_found" })
  })
}

async function assertStartFails({ engine }: EngineUnderTest, program: Program, code: string): Promise<void> {
  const spec = specOf(program)
  await assert.rejects(engine.start(spec, ignore, never), (error) => {
    assert.ok(error instanceof EngineError, String(error))
    assert.equal(error.code, code, `${error.message} (${error.detail})`)
    assert.doesNotMatch(error.message, /HTTP code|daemon|\/var\/|\/proc\//)
    return true
  })
  assert.equal(await findRun(engine, spec.key), undefined)
}

function failureTests(subject: () => EngineUnderTest): void {
  const fails = (program: Program, code: string) => assertStartFails(subject(), program, code)
  test("fails with image_not_found and leaves nothing", () => fails(subject().images.missing, "image_not_found"))
  test("fails with image_unavailable if the name refers to another image, and starts the expected one", async () => {
    await fails({ ...subject().images.serves, imageDigest: `sha256:${"0".repeat(64)}` }, "image_unavailable")
    const { engine, images } = subject()
    const { imageDigest } = await engine.start(specOf(images.serves), ignore, never)
    const repeated = specOf({ ...images.serves, imageDigest })
    assert.equal((await engine.start(repeated, ignore, never)).imageDigest, imageDigest)
    for (const { key } of await engine.observe()) await engine.stop(key)
  })
  test("fails with command_not_found and leaves nothing", () => fails(subject().images.noCommand, "command_not_found"))
  test("fails with mount_missing and leaves nothing", () =>
    fails({ ...subject().images.serves, mounts: [{ source: "/users/nobody/x", target: "/x", readOnly: true }] }, "mount_missing"))
}

function singleNodeTests(subject: () => EngineUnderTest): void {
  const fails = (program: Program, code: string) => assertStartFails(subject(), program, code)
  test("fails with insufficient_gpu for an unknown device", () =>
    fails({ ...subject().images.serves, gpus: ["no-such-device"] }, "insufficient_gpu"))
  test("fails with insufficient_gpu for a device of another container, until that one is removed", async () => {
    const { engine, images } = subject()
    const holder = specOf({ ...images.serves, gpus: ["mock-0"] })
    assert.deepEqual((await engine.start(holder, ignore, never)).gpuDevices, ["mock-0"])
    await fails({ ...images.serves, gpus: ["mock-1", "mock-0"] }, "insufficient_gpu")
    await engine.stop(holder.key, { graceMs: 0 })
    const next = specOf({ ...images.serves, gpus: ["mock-1", "mock-0"] })
    await engine.start(next, ignore, never)
    await engine.start(next, ignore, never)
    await engine.start({ ...next, gpus: ["mock-1"] }, ignore, never)
    assert.deepEqual((await findRun(engine, next.key))?.gpuDevices, ["mock-1"], "the container was created again")
    await engine.stop(next.key, { graceMs: 0 })
  })
  test("fails with nodes_unsupported for more than one node", () => fails({ ...subject().images.serves, nodes: 2 }, "nodes_unsupported"))
}

function completionTests(subject: () => EngineUnderTest): void {
  test("calls resolveSpec with the image and starts with the fields that it returns", async () => {
    const { engine, images, source } = subject()
    const spec = specOf({ ...images.serves, mounts: [{ source: "/users/nobody/x", target: "/x", readOnly: true }] })
    const mounts = [{ source, target: "/data", readOnly: true }]
    let digest = ""
    const started = await engine.start(spec, ignore, never, async (image) => {
      digest = image.digest
      return { mounts, port: spec.port + 1, workDir: "/data", env: { ...spec.env, WORD: "new" } }
    })
    assert.equal(digest, started.imageDigest)
    const recovered = await engine.recoverSpec(spec.key)
    assert.deepEqual([recovered?.mounts, recovered?.port, recovered?.workDir, recovered?.env.WORD], [mounts, spec.port + 1, "/data", "new"])
    await engine.stop(spec.key)
  })

  test("returns the ports on which a program listens, and none of a run that it does not have", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    await engine.start(spec, ignore, never)
    await fetchWhenListening(engine, spec)
    assert.deepEqual(await engine.listeningPorts(spec.key), [{ port: spec.port, isLocal: false }])
    await engine.stop(spec.key)
    assert.equal(await engine.listeningPorts(spec.key), undefined)
  })

  test("leaves nothing when resolveSpec rejects", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    const withdrawn = async () => {
      throw new EngineError("access_withdrawn", "The right ended")
    }
    await assert.rejects(engine.start(spec, ignore, never, withdrawn), { code: "access_withdrawn" })
    assert.equal(await findRun(engine, spec.key), undefined)
  })
}

function stopTests(subject: () => EngineUnderTest): void {
  test("resolves when it stops an unknown key", () => subject().engine.stop(specOf(subject().images.serves).key))

  test("leaves nothing of a stopped run", async () => {
    const { engine, images, source } = subject()
    const spec = specOf({ ...images.serves, mounts: [{ source, target: "/data", readOnly: true }] })
    await engine.start(spec, ignore, never)
    await engine.stop(spec.key)
    assert.equal(await findRun(engine, spec.key), undefined)
    assert.equal(await engine.address(spec.key, spec.port), undefined)
    await engine.stop(spec.key)
  })

  test("kills a program that does not end within the grace time", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.stubborn)
    await engine.start(spec, ignore, never)
    await engine.stop(spec.key, { graceMs: 50 })
    assert.equal(await findRun(engine, spec.key), undefined)
  })

  test("aborts a start when the run is stopped", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    let stop: Promise<void> | undefined
    const start = engine.start(spec, () => (stop ??= engine.stop(spec.key)), never)
    await assert.rejects(start, EngineError)
    await stop
    assert.equal(await findRun(engine, spec.key), undefined)
  })
}

function observeTests(subject: () => EngineUnderTest): void {
  test("shows a run with its labels to every engine of the instance and to no other", async () => {
    const { engine, images, reopen, openOtherInstance } = subject()
    const spec = specOf(images.serves)
    const started = await engine.start(spec, ignore, never)
    await using repeated = await reopen()
    await using other = await openOtherInstance()
    const seen = await findRun(repeated, spec.key)
    assert.ok(seen)
    const { run, project, user, state, exitCode, finishedAt } = seen
    assert.deepEqual(
      { run, project, user, state, exitCode, finishedAt },
      { run: 7, project: 5, user: "ann", state: "running", exitCode: null, finishedAt: null },
    )
    assert.equal(seen.imageDigest, started.imageDigest)
    assert.ok(seen.startedAt !== null && seen.startedAt > 0)
    assert.equal(await findRun(other, spec.key), undefined)
    await other.stop(spec.key)
    assert.equal((await findRun(repeated, spec.key))?.state, "running")
    await repeated.stop(spec.key)
    assert.equal(await findRun(engine, spec.key), undefined)
  })

  test("recovers a run's spec for every engine of the instance and no other", async () => {
    const { engine, images, reopen, openOtherInstance, source } = subject()
    const fields = {
      ...images.serves,
      cpus: 2,
      env: { WORD: "a=b" },
      mounts: [{ source, target: "/data", readOnly: true }],
      workDir: "/data",
    }
    const spec = specOf(fields)
    await engine.start(spec, ignore, never)
    await using repeated = await reopen()
    await using other = await openOtherInstance()
    const recalled = await repeated.recoverSpec(spec.key)
    const { env: _, command: __, imagePolicy: ___, ...rest } = spec
    assert.deepEqual({ ...recalled, env: undefined, command: undefined }, { ...rest, env: undefined, command: undefined })
    assert.equal(recalled?.env.WORD, "a=b")
    assert.deepEqual(recalled?.command.slice(0, spec.command.length), spec.command)
    assert.equal(await other.recoverSpec(spec.key), undefined)
    await engine.stop(spec.key)
    assert.equal(await engine.recoverSpec(spec.key), undefined)
  })
}

function endTests(subject: () => EngineUnderTest): void {
  test("observes the exit code of a program that ended", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.exits)
    await engine.start(spec, ignore, never)
    const ended = await observeUntil(engine, spec.key, (run) => run.state === "exited")
    assert.equal(ended.exitCode, 3)
    assert.equal(ended.oomKilled, false)
    assert.ok(ended.finishedAt !== null && ended.startedAt !== null && ended.finishedAt >= ended.startedAt)
    assert.equal(await engine.address(spec.key, spec.port), undefined)
    await engine.stop(spec.key)
  })

  test("reports that a program was killed for memory", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.oom)
    await engine.start(spec, ignore, never)
    assert.equal((await observeUntil(engine, spec.key, (run) => run.state === "exited")).oomKilled, true)
    await engine.stop(spec.key)
  })
}

function usageTests(subject: () => EngineUnderTest, { isCluster = false }: { isCluster?: boolean }): void {
  test("reports the resources and the written bytes of an observed run, and nothing of a removed one", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    await engine.start(spec, ignore, never)
    const stats = await statsWhenCounted(engine, spec.key)
    assert.ok(stats.memory !== null && stats.memory > 0 && stats.memory <= spec.memoryMiB * 2 ** 20)
    assert.deepEqual([stats.gpuMemory, stats.gpuBusy], [null, null])
    assert.ok(isCluster || (stats.networkIn !== null && stats.networkOut !== null))
    const written = (await engine.writableLayers()).get(spec.key)
    assert.ok(written !== undefined && written.bytes < 2 ** 20)
    await engine.stop(spec.key)
    await engine.observe()
    assert.equal(
      (await engine.stats()).some(({ key }) => key === spec.key),
      false,
    )
    assert.equal((await engine.writableLayers()).has(spec.key), false)
  })

  test("calls the watcher after a start and after a stop", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    await using calls = watchChanges(engine)
    await calls.next()
    await Promise.all([calls.next(), engine.start(spec, ignore, never)])
    await Promise.all([calls.next(), engine.stop(spec.key)])
  })

  test("refuses connections to a port on which nothing listens", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.noPort)
    await engine.start(spec, ignore, never)
    const address = await engine.address(spec.key, spec.port)
    assert.ok(address)
    await assert.rejects(fetch(`http://${address.host}:${address.port}/`), (error) => /ECONNREFUSED/.test(String((error as Error).cause)))
    await engine.stop(spec.key, { graceMs: 0 })
  })
}

/** A cluster's nodes count every 10 s or so. */
async function statsWhenCounted(engine: Engine, key: string): Promise<ContainerStats> {
  for (;;) {
    await engine.observe()
    const stats = (await engine.stats()).find((each) => each.key === key)
    if (stats && stats.cpuSeconds !== null && stats.memory) return stats
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}
