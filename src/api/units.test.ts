import assert from "node:assert/strict"
import { test } from "node:test"
import { fromMiB, fromMiBRoundedDown, memoryUnits, toRunMemoryMiB } from "./units.ts"

test("toRunMemoryMiB rejects more memory than any machine has, and names the limit and the amount in the unit in use", () => {
  assert.throws(() => toRunMemoryMiB(3e6, "GiB"), { field: "Memory", message: "Memory must be at most 2097152, in GiB; got 3000000" })
  assert.equal(toRunMemoryMiB(2_097_152, "GiB"), 2 ** 31)
})

test("fromMiBRoundedDown never returns more than there is, and a run can ask for it, in every unit", () => {
  for (const unit of memoryUnits) assert.ok(toRunMemoryMiB(fromMiBRoundedDown(261_632, unit), unit) <= 261_632, unit)
  assert.deepEqual([fromMiBRoundedDown(261_632, "GiB"), fromMiB(261_632, "GiB")], [255, 256])
})
