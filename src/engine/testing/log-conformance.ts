import assert from "node:assert/strict"
import { test } from "node:test"
import { specOf } from "../../../test/fixtures/run-spec.ts"
import { type EngineUnderTest, readAll, readToEnd } from "./engine-under-test.ts"

const never = new AbortController().signal
const ignore = () => {}

export function logTests(subject: () => EngineUnderTest): void {
  test("returns the output, oldest first, and only its tail on request", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    await engine.start(spec, ignore, never)
    const follow = new AbortController()
    for await (const line of engine.logs(spec.key, { follow: true, signal: follow.signal })) {
      assert.ok(line.text.length > 0 && !line.text.includes("\n"))
      assert.ok(Math.abs(line.time - Date.now()) < 600_000)
      break
    }
    const all = await readAll(engine.logs(spec.key))
    assert.ok(all.length > 0)
    assert.deepEqual(await readAll(engine.logs(spec.key, { tail: 1 })), all.slice(-1))
    assert.deepEqual(await readAll(engine.logs(spec.key, { tail: 0 })), [])
    assert.deepEqual(await readAll(engine.logs(spec.key, { since: Date.now() + 60_000 })), [])
    await engine.stop(spec.key)
  })

  test("follows the output until the program ends or the signal is aborted", async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    await engine.start(spec, ignore, never)
    const controller = new AbortController()
    const [aborted, stopped] = [controller.signal, never].map((signal) =>
      engine.logs(spec.key, { follow: true, signal })[Symbol.asyncIterator](),
    )
    assert.equal((await aborted?.next())?.done, false)
    assert.equal((await stopped?.next())?.done, false)
    controller.abort()
    await readToEnd(aborted)
    await engine.stop(spec.key)
    await readToEnd(stopped)
  })

  test("yields nothing for an unknown key", async () => {
    assert.deepEqual(await readAll(subject().engine.logs(specOf(subject().images.serves).key, { follow: true })), [])
  })
}
