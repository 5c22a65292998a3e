import assert from "node:assert/strict"
import { test } from "node:test"
import { GrowthTracker } from "./growth-tracker.ts"

const home = "/users/ann"
const data = `${home}/data`

/** The areas that have grown after two counts of one person. */
function grownBetween(before: Record<string, number>, now: Record<string, number>): Record<string, number> {
  const growth = new GrowthTracker()
  growth.record("ann", before, { excluded: [], now: 0 })
  growth.record("ann", now, { excluded: [], now: 1 })
  const [beyond, lately] = [growth.growthOverLimit("ann"), growth.recentGrowth()].map((grown) =>
    Object.fromEntries(grown.map(({ area, bytes }) => [area, bytes])),
  )
  assert.deepEqual(beyond, lately)
  return lately ?? {}
}

test("a directory that becomes a dataset has not grown by its existing files", () => {
  assert.deepEqual(grownBetween({ [home]: 100 }, { [home]: 70, [data]: 30 }), {})
})

test("a dataset grows by the bytes written since it became one", () => {
  assert.deepEqual(grownBetween({ [home]: 100 }, { [home]: 100, [data]: 30 }), { [data]: 30 })
  assert.deepEqual(grownBetween({ [home]: 100 }, { [home]: 90, [data]: 30 }), { [data]: 20 })
})

test("a home does not grow by a dataset in it that is deleted", () => {
  assert.deepEqual(grownBetween({ [home]: 70, [data]: 30 }, { [home]: 100 }), {})
})

test("a root that appears starts with its existing size", () => {
  assert.deepEqual(grownBetween({ [home]: 100 }, { [home]: 101, "/data/set": 30 }), { [home]: 1 })
})
