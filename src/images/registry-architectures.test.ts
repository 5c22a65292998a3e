import assert from "node:assert/strict"
import { test } from "node:test"
import { type Engine, EngineError } from "#engine"
import { ManualClock } from "#kit"
import { RegistryArchitectures } from "./registry-architectures.ts"

const policy = { verifyAccess: false, allowLocal: false }

/** The engine alone decides; every call is recorded. */
function open(answer: (reference: string) => string = () => "arm64") {
  const calls: string[] = []
  const registryArchitecture = async (reference: string) => {
    calls.push(reference)
    return answer(reference)
  }
  const clock = new ManualClock()
  return { calls, clock, architectures: new RegistryArchitectures({ engine: { registryArchitecture } as unknown as Engine, clock }) }
}

test("a registry is asked once a minute for each person and image", async () => {
  const { calls, clock, architectures } = open()
  const both = [architectures.find(1, "a", policy), architectures.find(1, "a", policy)]
  assert.deepEqual(await Promise.all(both), ["arm64", "arm64"])
  assert.equal(calls.length, 1)
  await architectures.find(2, "a", policy)
  assert.equal(calls.length, 2, "another person may have other credentials")
  await clock.advance(60_000)
  await architectures.find(1, "a", policy)
  assert.equal(calls.length, 3)
})

test("the oldest of 1,000 answers is forgotten", async () => {
  const { calls, architectures } = open()
  for (let n = 0; n <= 1_000; n += 1) await architectures.find(1, `image${n}`, policy)
  await architectures.find(1, "image1000", policy)
  assert.equal(calls.length, 1_001)
  await architectures.find(1, "image0", policy)
  assert.equal(calls.length, 1_002)
})

test("a registry that fails tells nothing, and other faults are not hidden", async () => {
  const { architectures } = open((reference) => {
    throw reference === "down" ? new EngineError("image_pull_failed", "down") : new TypeError("a bug")
  })
  assert.equal(await architectures.find(1, "down", policy), "")
  await assert.rejects(architectures.find(1, "other", policy), TypeError)
})
