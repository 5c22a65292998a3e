import assert from "node:assert/strict"
import { test } from "node:test"
import { StartingPrograms } from "./starting-programs.ts"

test("one person's starting programs do not slow another's, and all have one rate together", () => {
  const programs = new StartingPrograms()
  const add = (userId: number, count: number) => Array.from({ length: count }, () => programs.add(userId))
  const hostile = add(1, 50)
  assert.equal(programs.slowdownOf(1, 5), 10)
  const [other] = add(2, 1)
  assert.deepEqual([programs.slowdownOf(2, 5), programs.slowdownOf(1, 5)], [1, 20])
  other?.[Symbol.dispose]()
  for (const each of hostile) each[Symbol.dispose]()
  for (let userId = 1; userId <= 10; userId += 1) add(userId, userId)
  const rate = Array.from({ length: 10 }, (_, n) => (n + 1) / programs.slowdownOf(n + 1, 5)).reduce((sum, each) => sum + each, 0)
  assert.ok(Math.abs(rate - 5) < 1e-9, `${rate}`)
})
