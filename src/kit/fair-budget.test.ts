import assert from "node:assert/strict"
import { test } from "node:test"
import { FairBudget } from "./fair-budget.ts"

test("heaviest returns the key with the most members after any changes, and membersOf lists the oldest first", () => {
  const budget = new FairBudget<string, number>()
  const held = new Map<string, number[]>()
  let random = 7
  const next = (below: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31
    return random % below
  }
  for (let i = 0; i < 5_000; i += 1) {
    const key = `key ${next(12)}`
    const members = held.get(key) ?? []
    held.set(key, members)
    if (next(5) < 3) {
      members.push(i)
      budget.add(key, i)
    } else if (members.length > 0) budget.remove(key, members.splice(next(members.length), 1)[0] as number)
    const largest = Math.max(...[...held.values()].map((each) => each.length))
    assert.equal(budget.heaviest === undefined ? 0 : budget.sizeOf(budget.heaviest), largest)
    assert.equal(budget.size, [...held.values()].flat().length)
    assert.deepEqual([...budget.membersOf(key)], members)
  }
})
