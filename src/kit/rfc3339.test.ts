import assert from "node:assert/strict"
import test from "node:test"
import { seededRandom } from "../../test/fixtures/random.ts"
import { rfc3339 } from "./rfc3339.ts"

const edges = [
  0, -1, 1, 999, 1000, 59_999, 60_000, 3_599_999, 86_399_999, 86_400_000, -86_400_000, 951_782_400_000, 253_402_300_799_999,
  253_402_300_800_000,
]

test("rfc3339 equals Date.prototype.toISOString", () => {
  const { below } = seededRandom(1)
  const others = Array.from({ length: 5_000 }, () => (below(2 ** 32) - 1.3e9) * 1_000 + below(1_000))
  for (const time of [...edges, ...others]) assert.equal(rfc3339(time), new Date(time).toISOString())
})

test("rfc3339 throws on an invalid time", () => {
  for (const time of [Number.NaN, Number.POSITIVE_INFINITY, 9e15]) assert.throws(() => rfc3339(time), RangeError)
})
