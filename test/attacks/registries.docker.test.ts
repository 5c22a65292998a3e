import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import type { RunSpec } from "#engine"
import { startDockerEngine, type TestDockerEngine } from "../fixtures/docker/docker-engine.ts"
import { startRegistry } from "../fixtures/docker/registry.ts"
import { specOf } from "../fixtures/run-spec.ts"

const never = new AbortController().signal
const ignore = () => {}
/** Prints the path of each request. */
const listening = "exec httpd -f -vv -p 8080 -h /www"

describe("a hostile registry", () => {
  let rig: TestDockerEngine
  let bob: RunSpec
  let target: string
  before(async () => {
    rig = await startDockerEngine()
    bob = specOf({ image: rig.image, command: ["sh", "-c", listening], user: "bob" })
    await rig.engine.start(bob, ignore, never)
    target = `http://${(await rig.engine.address(bob.key, 8080))?.host}:8080`
  })
  after(() => rig[Symbol.asyncDispose]())

  const logLines = async () => (await Array.fromAsync(rig.engine.logs(bob.key, {}))).map(({ text }) => text)

  test("cannot redirect the engine's daemon to a run for a token or for layers", async () => {
    await fetch(`${target}/asked-by-quayside`, { signal: AbortSignal.timeout(5_000) })
    await using registry = await startRegistry({ sendsTo: `${target}/asked-by-the-daemon` })
    for (const image of ["good/realm", "moved/layers"]) {
      const stop = AbortSignal.timeout(5_000)
      await assert.rejects(rig.engine.start(specOf({ image: `${registry.host}/${image}` }), ignore, stop))
    }
    const requests = await logLines()
    assert.ok(requests.some((line) => line.includes("/asked-by-quayside")))
    assert.deepEqual(
      requests.filter((line) => line.includes("/asked-by-the-daemon")),
      [],
    )
  })
})
