import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { DatabaseFiles } from "./database-files.ts"
import { describeFailure } from "./seeds.ts"
import { simulate } from "./simulation.ts"

/**
 * Among them are those that found a bug or catch a removed guard (`test/mutants/simulation.ts`).
 * `many-seeds.simulation.test.ts` has many more.
 */
const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 22, 23, 32, 38, 94, 111, 214, 285, 329, 344, 860, 1009, 1388]

let files: DatabaseFiles
before(async () => {
  files = await DatabaseFiles.make()
})
after(() => files[Symbol.dispose]())

test("one seed does the same twice, to the last line", async () => {
  const first = await simulate(7, files)
  const second = await simulate(7, files)
  assert.ok(first.record.lines.length > 200)
  assert.deepEqual(second.record.lines, first.record.lines)
  const other = await simulate(8, files)
  assert.notDeepEqual(other.record.lines, first.record.lines)
})

for (const seed of seeds) {
  test(`seed ${seed} keeps every rule and settles`, async () => {
    const outcome = await simulate(seed, files)
    assert.ok(outcome.failure === undefined, describeFailure(outcome))
  })
}
