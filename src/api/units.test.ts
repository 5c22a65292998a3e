import assert from "node:assert/strict"
import { test } from "node:test"
import { fromMiB, leftOf, memoryUnits, runMemory } from "./units.ts"

test("What is left to be had is never answered as more than there is, and can be asked for, in every unit", () => {
  for (const unit of memoryUnits) assert.ok(runMemory(leftOf(261_632, unit), unit) <= 261_632, unit)
  assert.deepEqual([leftOf(261_632, "GiB"), fromMiB(261_632, "GiB")], [255, 256])
})
