import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as nextTurn } from "node:timers/promises"
import { PacedReader, TurnBudget } from "./turn-budget.ts"

const chunk = 64 * 1024

test("a person's reads of a turn are bounded, many short ones too, and another person's are not", async () => {
  const budget = new TurnBudget()
  let long = 0
  while (budget.spend(1, chunk, {})) long += 1
  let short = 0
  while (budget.spend(2, 1, {})) short += 1
  assert.deepEqual([long, short], [3, 31])
  await nextTurn()
  assert.ok(budget.spend(1, chunk, {}))
})

test("connections beyond the budget continue in order, a few in each turn, and people at the same time", async () => {
  const budget = new TurnBudget()
  const resumed: string[] = []
  for (let i = 0; i < 6; i += 1) budget.wait(1, () => resumed.push(`ann ${i}`))
  budget.wait(2, () => resumed.push("bob"))
  await nextTurn()
  assert.deepEqual(resumed, ["ann 0", "ann 1", "ann 2", "ann 3", "bob"])
  await nextTurn()
  assert.deepEqual(resumed.slice(5), ["ann 4", "ann 5"])
})

test("a connection continues when both its receiver and the budget have room", async () => {
  const budget = new TurnBudget()
  let resumes = 0
  const reader = new PacedReader(() => {
    resumes += 1
  }, budget)
  const share = () => budget.spend(1, 1, {})
  share()
  assert.ok(reader.countRead(1, chunk))
  while (reader.countRead(1, chunk));
  reader.pause()
  await nextTurn()
  assert.equal(resumes, 0)
  reader.resume()
  assert.equal(resumes, 1)
  share()
  while (reader.countRead(1, chunk));
  reader.resume()
  assert.equal(resumes, 1)
  await nextTurn()
  assert.equal(resumes, 2)
})

test("a connection that is alone in its turn is not paced until another one reads", async () => {
  const budget = new TurnBudget()
  const alone = {}
  for (let i = 0; i < 32; i += 1) assert.ok(budget.spend(1, chunk, alone))
  assert.ok(!budget.spend(1, chunk, {}))
  assert.ok(!budget.spend(1, chunk, alone))
  await nextTurn()
  assert.ok(budget.spend(1, chunk, alone))
})

test("the reads of a connection that is alone in its turn are bounded", async () => {
  const budget = new TurnBudget()
  const alone = {}
  let reads = 0
  while (reads < 1_000 && budget.spend(1, 1, alone)) reads += 1
  assert.equal(reads, 64)
  await nextTurn()
  assert.ok(budget.spend(1, 1, alone))
})
