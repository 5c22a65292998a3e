import assert from "node:assert/strict"
import { availableParallelism } from "node:os"
import { test } from "node:test"
import { describeCounts, runSeeds, unseenOf } from "./seeds.ts"

const seeds = 2_000

test(`${seeds} seeds keep every rule and settle, and every move and fault is seen`, async (t) => {
  const summary = await runSeeds(1, seeds, Math.min(4, availableParallelism()))
  t.diagnostic(`Moves:\n${describeCounts(summary.moves)}`)
  t.diagnostic(`Faults and actions:\n${describeCounts(summary.faults)}`)
  assert.equal(summary.failures.length, 0, `${summary.failures.length} seeds broke a rule\n${summary.failures.slice(0, 3).join("\n\n")}`)
  assert.deepEqual(unseenOf(summary), [])
})
