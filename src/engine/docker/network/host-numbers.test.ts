import assert from "node:assert/strict"
import { test } from "node:test"
import { HostNumberPool } from "./host-numbers.ts"

const all = Array.from({ length: 29 }, (_, n) => n + 2)

test("every address is leased before one is reused, and the first released is reused first", () => {
  const numbers = new HostNumberPool()
  const order: (number | undefined)[] = []
  for (let n = 0; n < 29; n += 1) {
    const host = numbers.lease()
    order.push(host)
    numbers.release(host ?? 0)
  }
  assert.deepEqual(
    order.toSorted((a = 0, b = 0) => a - b),
    all,
  )
  assert.equal(numbers.lease(), order[0])
  assert.equal(numbers.lease(), order[1])
})

test("a leased, used or taken address is not leased again", () => {
  const numbers = new HostNumberPool()
  const leased = numbers.lease(() => 0)
  assert.equal(leased, 2)
  numbers.markTaken(3)
  assert.equal(
    numbers.lease(() => 0),
    4,
  )
  numbers.updateInUse(new Set(all.filter((host) => host !== 2 && host !== 9)))
  assert.equal(numbers.lease(), 9)
  assert.equal(numbers.lease(), undefined)
  numbers.updateInUse(new Set())
  assert.notEqual(numbers.lease(), undefined)
})

test("a recently used address is leased last, even if another engine assigned it", () => {
  const numbers = new HostNumberPool()
  numbers.updateInUse(new Set(all))
  numbers.updateInUse(new Set())
  numbers.updateInUse(new Set([2]))
  numbers.updateInUse(new Set())
  const order = all.map(() => numbers.lease())
  assert.equal(order.at(-1), 2)
})
