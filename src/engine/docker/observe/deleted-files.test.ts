import assert from "node:assert/strict"
import { test } from "node:test"
import { Yielder } from "#kit"
import { sumOfDevice } from "./deleted-files.ts"

test("thousands of descriptors of deleted files are summed in slices, each file of the device once", async (t) => {
  const pauses = t.mock.method(Yielder.prototype, "pause")
  const lines = Array.from({ length: 10_000 }, (_, i) => `${i % 2} ${i % 100} 8\n`)
  assert.equal(await sumOfDevice("0", lines.join("")), 50 * 8 * 512)
  assert.ok(pauses.mock.callCount() > 10)
  assert.equal(await sumOfDevice("0", ""), 0)
})
