import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { startDockerEngine, type TestDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { type Registry, startRegistry } from "../../../../test/fixtures/docker/registry.ts"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { EngineError, type StartStep } from "../../engine.ts"
import type { RoomRequest } from "../../stored-images.ts"

/** The image contains no program, so a successful pull ends with `command_not_found`. */
let rig: TestDockerEngine
let registry: Registry
before(async () => {
  ;[rig, registry] = await Promise.all([startDockerEngine(), startRegistry()])
})
after(async () => {
  const images = await rig.docker("images", "--quiet", "--filter", `reference=${registry.host}/*/*`)
  for (const image of new Set(images.split("\n"))) if (image !== "") await rig.docker("rmi", "--force", image)
  await registry[Symbol.asyncDispose]()
  await rig[Symbol.asyncDispose]()
})

const start = (name: string, report: (step: StartStep) => void = () => {}, signal = new AbortController().signal) =>
  rig.engine.start(specOf({ image: `${registry.host}/${name}` }), report, signal)

describe("a start with a missing image", () => {
  test("a pull reports bytes that only grow, up to the sum of all layers", async () => {
    const steps: StartStep[] = []
    await assert.rejects(
      start("slow/one", (step) => steps.push(step)),
      { code: "command_not_found" },
    )
    const sums = steps.filter((step) => step.state === "pulling").map((step) => step.progress)
    const bytes = sums.filter((sum) => sum !== null)
    assert.equal(sums[0], null)
    assert.ok(bytes.length > 3, `${bytes.length} reports`)
    for (const [n, sum] of bytes.entries()) {
      assert.ok(sum.current >= (bytes[n - 1]?.current ?? 0) && sum.current <= (sum.total ?? 0), JSON.stringify(bytes))
      assert.ok((sum.total ?? 0) >= (bytes[n - 1]?.total ?? 0), JSON.stringify(bytes))
    }
    const last = bytes.at(-1)
    assert.ok(last && last.current === last.total && last.current >= 600_000, JSON.stringify(last))
  })

  test("a start does not fetch a local image again", async () => {
    await assert.rejects(start("good/two"), { code: "command_not_found" })
    const steps: StartStep[] = []
    await assert.rejects(
      start("good/two", (step) => steps.push(step)),
      { code: "command_not_found" },
    )
    assert.ok(steps.length > 0 && steps.every((step) => step.state !== "pulling"), JSON.stringify(steps))
  })

  test("a failed pull has the code of the registry's answer", async () => {
    await assert.rejects(start("unknown/image"), { code: "image_not_found" })
    await assert.rejects(start("denied/image"), { code: "image_pull_denied" })
    await assert.rejects(start("broken/image"), { code: "image_pull_failed" })
    await assert.rejects(
      rig.engine.start(specOf({ image: "127.0.0.1:9/no/registry" }), () => {}, new AbortController().signal),
      {
        code: "image_pull_failed",
      },
    )
  })
})

describe("the end of a pull", () => {
  test("the registry's own text is in the error's detail, not in its message", async () => {
    await assert.rejects(start("denied/image"), (error) => {
      assert.ok(error instanceof EngineError && error.detail !== undefined)
      assert.doesNotMatch(error.message, /HTTP|authentication required/)
      return true
    })
  })

  test("an aborted start ends the daemon's pull", async () => {
    const controller = new AbortController()
    const aborted = start("stuck/image", (step) => step.progress !== null && controller.abort(new Error("enough")), controller.signal)
    await assert.rejects(aborted, /enough/)
    await registry.idle()
  })

  test("a layer of a few megabytes that unpacks to gigabytes ends before it fills the disk, and leaves nothing", async () => {
    const free = async () => (await rig.engine.freeDisk()) ?? 0
    const before = await free()
    const gib = 2 ** 30
    const asked: unknown[] = []
    const makeRoom = async ({ owner, measure }: RoomRequest) => {
      asked.push([owner, ((await measure())?.lackingBytes ?? 0) > 0])
    }
    await using engine = await rig.open({ minFreeBytes: () => before - gib, makeRoom })
    const pull = engine.start(specOf({ image: `${registry.host}/bomb/one`, user: "ann" }), () => {}, new AbortController().signal)
    await assert.rejects(pull, { code: "disk_full", message: /disk of the container engine is nearly full/ })
    assert.deepEqual(asked, [["ann", true]], "room was asked for before")
    assert.ok((await free()) > before - 5 * gib, "of 7.5 GiB")
    await eventually("the part is gone", async () => (await free()) > before - gib / 2, 20_000)
  })

  test("a shared pull continues for one caller when another one aborts", async () => {
    const controller = new AbortController()
    const other = start("slow/shared", (step) => step.progress !== null && controller.abort(new Error("enough")))
    await assert.rejects(
      start("slow/shared", () => {}, controller.signal),
      /enough/,
    )
    await assert.rejects(other, { code: "command_not_found" })
  })
})
