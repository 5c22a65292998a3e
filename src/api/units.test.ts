import assert from "node:assert/strict"
import { test } from "node:test"
import { fromMiB, leftOf, memoryUnits, runMemory } from "./units.ts"

test("an amount beyond any machine's is refused with the most there may be and what came, in the unit in force", () => {
  assert.throws(() => runMemory(3e6, "GiB"), { field: "Memory", message: "Memory must be at most 2097152, in GiB; got 3000000" })
  assert.equal(runMemory(2_097_152, "GiB"), 2 ** 31)
})

test("What is left to be had is never answered as more than there is, and can be asked for, in every unit", () => {
  for (const unit of memoryUnits) assert.ok(runMemory(leftOf(261_632, unit), unit) <= 261_632, unit)
  assert.deepEqual([leftOf(261_632, "GiB"), fromMiB(261_632, "GiB")], [255, 256])
})
