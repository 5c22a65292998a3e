import assert from "node:assert/strict"
import { test } from "node:test"
import { fairOrder, type QueuedRun, ServiceHistory } from "./fair-order.ts"

const run = (id: number, userId: number, createdAt = id): QueuedRun => ({ id, userId, createdAt })
const ids = (waiting: readonly QueuedRun[], turns = new ServiceHistory()) => fairOrder(waiting, turns).map(({ id }) => id)
/** Turns after these people were served, each a moment after the one before. */
function served(...people: number[]): ServiceHistory {
  const turns = new ServiceHistory()
  for (const [i, userId] of people.entries()) turns.recordServed(userId, i + 1)
  return turns
}

test("waiting people alternate, each with their oldest run first", () => {
  assert.deepEqual(ids([run(1, 1), run(2, 1), run(3, 1), run(4, 2), run(5, 3), run(6, 2)]), [1, 4, 5, 2, 6, 3])
  assert.deepEqual(ids([]), [])
})

test("the person whose run started last is last in the order", () => {
  assert.deepEqual(ids([run(10, 1), run(11, 1), run(90, 2)], served(1)), [90, 10, 11])
  assert.deepEqual(ids([run(10, 1), run(11, 1), run(90, 2)], served(1, 2)), [10, 90, 11])
})

test("people without an earlier start wait in the order of their requests", () => {
  assert.deepEqual(ids([run(10, 1), run(20, 2), run(30, 3)], served(1, 9)), [10, 20, 30])
})

test("recorded starts may arrive twice and late", () => {
  const turns = served(1, 2)
  turns.recordServed(1, 1)
  turns.recordServed(2, 2)
  turns.recordServed(3, 1)
  assert.deepEqual(
    [turns.waitingSince(1), turns.waitingSince(2), turns.waitingSince(3), turns.waitingSince(4)],
    [2, Infinity, 1, -Infinity],
  )
})

test("the order stays the same while runs leave the queue", () => {
  const turns = served(3, 1, 2)
  let waiting = [run(10, 1), run(11, 1), run(12, 2), run(13, 3), run(14, 3), run(15, 3), run(16, 4)]
  const expected = ids(waiting, turns)
  const seen: number[] = []
  for (let now = 100; waiting.length > 0; now += 1) {
    const next = fairOrder(waiting, turns)[0] as QueuedRun
    seen.push(next.id)
    turns.recordServed(next.userId, now)
    waiting = waiting.filter(({ id }) => id !== next.id)
  }
  assert.deepEqual(seen, expected)
})

test("a person waits for at most one run of each other person, however the queue grows", () => {
  const turns = served(1, 2, 3)
  let waiting = Array.from({ length: 300 }, (_, i) => run(i + 10, 1 + (i % 3)))
  waiting.push(run(1_000, 9))
  const before: number[] = []
  for (let now = 2_000; waiting.length > 0; now += 1) {
    const next = fairOrder(waiting, turns)[0] as QueuedRun
    if (next.userId === 9) break
    before.push(next.userId)
    turns.recordServed(next.userId, now)
    waiting = [...waiting.filter(({ id }) => id !== next.id), run(now, next.userId)].sort((a, b) => a.id - b.id)
  }
  assert.deepEqual(before, [1, 2])
})
