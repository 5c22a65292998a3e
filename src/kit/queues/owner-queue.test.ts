import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { OwnerQueue } from "./owner-queue.ts"

test("a queue limits concurrent calls and runs the others in order", async () => {
  const queue = new OwnerQueue(2)
  const started: number[] = []
  const calls = Array.from({ length: 5 }, async (_, n) => {
    const call = await queue.acquire()
    started.push(n)
    return call
  })
  await turn()
  assert.deepEqual(started, [0, 1])
  for (let n = 0; n < 5; n += 1) {
    ;(await calls[n])?.[Symbol.dispose]()
    await turn()
    assert.deepEqual(started, [0, 1, 2, 3, 4].slice(0, n + 3))
  }
})

test("one owner uses at most their share of a queue, and others overtake them", async () => {
  const queue = new OwnerQueue(3, 2)
  const started: string[] = []
  const enter = (owner: string) => queue.acquire(owner).then((call) => started.push(owner) && call)
  const [first] = [enter("ann"), enter("ann"), enter("ann"), enter("bob"), enter("bob")]
  await turn()
  assert.deepEqual(started, ["ann", "ann", "bob"])
  ;((await first) as Disposable)[Symbol.dispose]()
  await turn()
  assert.deepEqual(started, ["ann", "ann", "bob", "ann"])
})

test("an aborted or rejected call leaves the queue, which continues", async () => {
  const queue = new OwnerQueue(1)
  const running = await queue.acquire()
  const controller = new AbortController()
  const aborted = queue.acquire("", controller.signal)
  controller.abort(new Error("no more"))
  await assert.rejects(aborted, /no more/)
  const refused = queue.acquire()
  queue.rejectWaiting(new Error("gone"))
  await assert.rejects(refused, /gone/)
  running[Symbol.dispose]()
  ;(await queue.acquire())[Symbol.dispose]()
})
