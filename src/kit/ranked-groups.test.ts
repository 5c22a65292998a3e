import assert from "node:assert/strict"
import { test } from "node:test"
import { RankedGroups } from "./ranked-groups.ts"

test("largestKey returns the key with the most members after any changes, and membersOf lists the oldest first", () => {
  const groups = new RankedGroups<string, number>()
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
      groups.add(key, i)
    } else if (members.length > 0) groups.remove(key, members.splice(next(members.length), 1)[0] as number)
    const largest = Math.max(...[...held.values()].map((each) => each.length))
    assert.equal(groups.largestKey === undefined ? 0 : groups.sizeOf(groups.largestKey), largest)
    assert.equal(groups.size, [...held.values()].flat().length)
    assert.deepEqual([...groups.membersOf(key)], members)
  }
})
