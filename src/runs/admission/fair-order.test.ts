import assert from "node:assert/strict"
import { test } from "node:test"
import { type AllocatedRun, FairnessState, fairOrder, type QueuedRun } from "./fair-order.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const small = { cpus: 1, memoryMiB: 0, gpus: 0 }
const queued = (id: number, userId: number, more: Partial<QueuedRun> = {}): QueuedRun => ({ ...small, id, userId, createdAt: id, ...more })
const held = (userId: number, more: Partial<AllocatedRun> = {}): AllocatedRun => ({ ...small, userId, ...more })

function factsOf(cpus: number, { gpus = 0, groups = {} }: { gpus?: number; groups?: Record<number, number[]> } = {}): FairnessState {
  const facts = new FairnessState()
  facts.setCapacity([{ cpus, memoryMiB: 0, gpus: Array(gpus) }])
  facts.setGroups(new Map(Object.entries(groups).map(([userId, ids]) => [Number(userId), ids])))
  return facts
}
const ids = (waiting: readonly QueuedRun[], holding: readonly AllocatedRun[] = [], facts = factsOf(4)) =>
  fairOrder(waiting, holding, facts).map(({ id }) => id)

test("people take turns, each with their oldest run first", () => {
  const waiting = [queued(1, 1), queued(2, 1), queued(3, 1), queued(4, 2), queued(5, 3), queued(6, 2)]
  assert.deepEqual(ids(waiting), [1, 4, 5, 2, 6, 3])
  assert.deepEqual(ids([]), [])
})

test("an earlier request counts less the more its person holds", () => {
  assert.deepEqual(ids([queued(10, 1), queued(90, 2)], [held(1), held(3)]), [90, 10])
  assert.deepEqual(ids([queued(10, 1), queued(90, 2)], [held(1), held(2)]), [10, 90])
  assert.deepEqual(ids([queued(10, 1), queued(90, 2)], [held(1), held(2), held(2)]), [10, 90])
})

test("what a group holds counts for each of its members", () => {
  const facts = factsOf(4, { groups: { 1: [7], 2: [8, 9], 3: [7] } })
  assert.deepEqual(ids([queued(10, 1), queued(90, 2)], [held(3)], facts), [90, 10])
})

test("the resource of which somebody holds the largest share counts", () => {
  const facts = factsOf(100, { gpus: 2 })
  assert.deepEqual(ids([queued(10, 1), queued(90, 2)], [held(1, { gpus: 1 }), held(2, { cpus: 40 })], facts), [90, 10])
})

test("nobody waits for ever behind new requests of people who hold nothing", () => {
  const waiting = [queued(1, 1, { createdAt: 0 }), queued(2, 2, { createdAt: 25 * hourMs })]
  assert.deepEqual(ids(waiting, [held(1, { cpus: 4 })]), [1, 2])
  const earlier = [queued(1, 1, { createdAt: 0 }), queued(2, 2, { createdAt: 23 * hourMs })]
  assert.deepEqual(ids(earlier, [held(1, { cpus: 4 })]), [2, 1])
})

test("the order stays the same while runs leave the queue and others end", () => {
  const holding = [held(3), held(1), held(2)]
  let waiting = [queued(10, 1), queued(11, 1), queued(12, 2), queued(13, 3), queued(14, 3), queued(15, 3), queued(16, 4)]
  const facts = factsOf(20)
  const expected = ids(waiting, holding, facts)
  const seen: number[] = []
  for (let now = 100; waiting.length > 0; now += 1) {
    const next = fairOrder(waiting, holding, facts)[0] as QueuedRun
    seen.push(next.id)
    facts.recordServed(next.userId, now)
    holding.push(next)
    waiting = waiting.filter(({ id }) => id !== next.id)
  }
  assert.deepEqual(seen, expected)
})

test("a person waits for at most one run of each other person, however the queue grows", () => {
  const facts = factsOf(1)
  let waiting = Array.from({ length: 300 }, (_, i) => queued(i + 10, 1 + (i % 3)))
  waiting.push(queued(1_000, 9))
  const before: number[] = []
  for (let now = 2_000; ; now += 1) {
    const next = fairOrder(
      waiting,
      before.slice(-1).map((userId) => held(userId)),
      facts,
    )[0] as QueuedRun
    if (next.userId === 9) break
    before.push(next.userId)
    facts.recordServed(next.userId, now)
    waiting = [...waiting.filter(({ id }) => id !== next.id), queued(now, next.userId)]
  }
  assert.deepEqual(before, [1, 2, 3])
})

test("the person served last is behind everybody, also when their run has ended", () => {
  const facts = factsOf(1)
  facts.recordServed(1, 5)
  assert.deepEqual(ids([queued(10, 1), queued(90, 2)], [], facts), [90, 10])
  facts.recordServed(3, 6)
  assert.deepEqual(ids([queued(10, 1), queued(90, 2)], [], facts), [10, 90])
})

test("recorded starts may arrive twice and late", () => {
  const facts = factsOf(1)
  for (const [userId, at] of [
    [1, 1],
    [2, 2],
    [1, 1],
    [2, 2],
    [3, 1],
  ] as const)
    facts.recordServed(userId, at)
  assert.deepEqual(
    [1, 2, 3, 4].map((userId) => facts.waitingSince(userId)),
    [2, Infinity, 1, -Infinity],
  )
})

test("without a known capacity the shares of what is in use count", () => {
  assert.deepEqual(ids([queued(10, 1), queued(90, 2)], [held(1, { cpus: 3 }), held(2)], new FairnessState()), [90, 10])
})
