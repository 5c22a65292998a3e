import assert from "node:assert/strict"
import { test } from "node:test"
import { specOf } from "../../../test/fixtures/run-spec.ts"
import type { EngineUnderTest } from "./engine-under-test.ts"

const never = new AbortController().signal
const ignore = () => {}

export function imageRemovalTests(subject: () => EngineUnderTest): void {
  const anyone = { verifyAccess: false, allowLocal: false }

  test("reports each pull, and whether the image is new to the engine", async () => {
    const { engine, images, pulls } = subject()
    const pull = () => engine.pull(images.remote.image, { policy: anyone, report: ignore, signal: never })
    const { digest, registryDigest } = await pull()
    assert.match(registryDigest, /^sha256:[0-9a-f]{64}$/)
    assert.equal((await pull()).digest, digest)
    assert.deepEqual(
      pulls.slice(-2).map(({ digest, isNew }) => [digest, isNew]),
      [
        [digest, true],
        [digest, false],
      ],
    )
    const found = (await engine.images()).find((each) => each.digest === digest)
    assert.deepEqual(found?.references, [pulls.at(-1)?.reference])
    assert.ok(found.size > 0)
  })

  test("removes an image with known names only, and never one that a container uses", async () => {
    const { engine, images, pulls } = subject()
    const { reference = "", digest = "" } = pulls.at(-1) ?? {}
    const removal = { digest, references: [reference] }
    assert.equal(await engine.removeImage({ ...removal, references: [] }), "foreign")
    const spec = specOf(images.serves)
    const { imageDigest } = await engine.start(spec, ignore, never)
    const references = (await engine.images()).find((each) => each.digest === imageDigest)?.references ?? []
    assert.equal(await engine.removeImage({ digest: imageDigest, references }), "in_use")
    await engine.stop(spec.key, { graceMs: 0 })
    assert.equal(await engine.removeImage(removal), "removed")
    assert.equal(await engine.removeImage(removal), "missing")
    assert.equal(await engine.image(images.remote.image, anyone), undefined)
  })
}
