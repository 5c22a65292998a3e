import assert from "node:assert/strict"
import { test } from "node:test"
import { HostNumbers } from "./host-numbers.ts"

const all = Array.from({ length: 29 }, (_, n) => n + 2)

test("every address of a network is given away before one comes again, and then the one that was given back first", () => {
  const numbers = new HostNumbers()
  const order: (number | undefined)[] = []
  for (let n = 0; n < 29; n += 1) {
    const host = numbers.take()
    order.push(host)
    numbers.giveBack(host ?? 0)
  }
  assert.deepEqual(
    order.toSorted((a = 0, b = 0) => a - b),
    all,
  )
  assert.equal(numbers.take(), order[0])
  assert.equal(numbers.take(), order[1])
})

test("an address that is held, seen in use or taken by somebody else is not given away", () => {
  const numbers = new HostNumbers()
  const held = numbers.take(() => 0)
  assert.equal(held, 2)
  numbers.isTaken(3)
  assert.equal(
    numbers.take(() => 0),
    4,
  )
  numbers.seen(new Set(all.filter((host) => host !== 2 && host !== 9)))
  assert.equal(numbers.take(), 9)
  assert.equal(numbers.take(), undefined)
  numbers.seen(new Set())
  assert.notEqual(numbers.take(), undefined)
})

test("an address that a run had until just now comes last, also one that somebody else gave away", () => {
  const numbers = new HostNumbers()
  numbers.seen(new Set(all))
  numbers.seen(new Set())
  numbers.seen(new Set([2]))
  numbers.seen(new Set())
  const given = all.map(() => numbers.take())
  assert.equal(given.at(-1), 2)
})
