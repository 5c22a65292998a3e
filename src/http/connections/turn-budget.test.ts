import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as nextTurn } from "node:timers/promises"
import { PacedReader, TurnBudget } from "./turn-budget.ts"

const chunk = 64 * 1024

test("a person's reads of a turn are bounded, many short ones too, and another person's are not", async () => {
  const budget = new TurnBudget(() => 0)
  let long = 0
  while (budget.spend(1, chunk, {})) long += 1
  let short = 0
  while (budget.spend(2, 1, {})) short += 1
  assert.deepEqual([long, short], [3, 31])
  await nextTurn()
  assert.ok(budget.spend(1, chunk, {}))
})

test("connections beyond the budget continue in order, a few in each turn, and people at the same time", async () => {
  const budget = new TurnBudget(() => 0)
  const resumed: string[] = []
  for (let i = 0; i < 6; i += 1) budget.resumeLater(1, () => resumed.push(`ann ${i}`))
  budget.resumeLater(2, () => resumed.push("bob"))
  await nextTurn()
  assert.deepEqual(resumed, ["ann 0", "ann 1", "ann 2", "ann 3", "bob"])
  await nextTurn()
  assert.deepEqual(resumed.slice(5), ["ann 4", "ann 5"])
})

test("a connection continues when both its receiver and the budget have room", async () => {
  const budget = new TurnBudget(() => 0)
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
  const budget = new TurnBudget(() => 0)
  const alone = {}
  for (let i = 0; i < 32; i += 1) assert.ok(budget.spend(1, chunk, alone))
  assert.ok(!budget.spend(1, chunk, {}))
  assert.ok(!budget.spend(1, chunk, alone))
  await nextTurn()
  assert.ok(budget.spend(1, chunk, alone))
})

test("the reads of a connection that is alone in its turn are bounded", async () => {
  const budget = new TurnBudget(() => 0)
  const alone = {}
  let reads = 0
  while (reads < 1_000 && budget.spend(1, 1, alone)) reads += 1
  assert.equal(reads, 64)
  await nextTurn()
  assert.ok(budget.spend(1, 1, alone))
})

test("a person's reads of a turn end when they have lasted for 2 ms, also on a connection that is alone", async () => {
  let now = 0
  const budget = new TurnBudget(() => now)
  const alone = {}
  let reads = 0
  while (reads < 64 && budget.spend(1, 1, alone)) {
    reads += 1
    now += 1
  }
  assert.equal(reads, 2)
  assert.ok(budget.spend(2, 1, {}))
  await nextTurn()
  assert.ok(budget.spend(1, 1, alone))
})

test("one connection continues after a turn in which a person's reads took too long", async () => {
  let now = 0
  const budget = new TurnBudget(() => now)
  const resumed: number[] = []
  budget.spend(1, 1, {})
  now += 2
  budget.spend(1, 1, {})
  for (let i = 0; i < 6; i += 1) budget.resumeLater(1, () => resumed.push(i))
  await nextTurn()
  assert.deepEqual(resumed, [0])
  await nextTurn()
  assert.deepEqual(resumed, [0, 1, 2, 3, 4])
})

test("connections of a person whose time has run out stop before they have read, and continue one by one", async () => {
  let now = 0
  const budget = new TurnBudget(() => now)
  const events: string[] = []
  const join = (name: string, userId: number) => {
    const [resume, stop] = ["resumes", "stops"].map((verb) => () => void events.push(`${name} ${verb}`)) as [() => void, () => void]
    const reader = new PacedReader(resume, budget, stop)
    reader.join(userId)
    return reader
  }
  const [first, second, third, gone] = ["first", "second", "third", "gone"].map((name) => join(name, 1)) as [
    PacedReader,
    PacedReader,
    PacedReader,
    PacedReader,
  ]
  join("another person's", 2)
  gone.leave()
  assert.ok(first.countRead(1, 1))
  now = 2
  assert.equal(first.countRead(1, 1), false)
  assert.deepEqual(events, [], "a connection that is alone in its turn holds back no other")
  assert.equal(second.countRead(1, 1), false)
  assert.deepEqual(events, ["second stops", "third stops"])
  for (const name of ["first", "second", "third"]) {
    await nextTurn()
    assert.equal(events.at(-1), `${name} resumes`)
    budget.spend(1, 1, {})
    now += 2
    budget.spend(1, 1, {})
  }
  assert.equal(third.countRead(1, 1), false)
})
