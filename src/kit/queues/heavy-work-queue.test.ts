import assert from "node:assert/strict"
import { test } from "node:test"
import { HeavyWorkQueue } from "./heavy-work-queue.ts"

test("another person's work is done after at most one piece of a person with much", async () => {
  const queue = new HeavyWorkQueue()
  let count = 0
  const page = async () => {
    count += 1
  }
  const ann = Array.from({ length: 20 }, () => queue.run(1, page))
  await queue.run(2, async () => {})
  assert.ok(count <= 1, `${count} pages were read before`)
  await Promise.all(ann)
  assert.equal(count, 20)
})

test("a person's work is done one piece at a time, and an error ends only its own", async () => {
  const queue = new HeavyWorkQueue()
  let running = 0
  const page = async (fails: boolean) => {
    running += 1
    assert.equal(running, 1)
    await new Promise((resolve) => setImmediate(resolve))
    running -= 1
    if (fails) throw new Error("no page")
  }
  const results = await Promise.allSettled([true, false, false].map((fails) => queue.run(1, () => page(fails))))
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "fulfilled", "fulfilled"],
  )
})

test("requests proceed between any two pieces of work, of whichever people", async () => {
  const queue = new HeavyWorkQueue()
  let turn = 0
  const next = () => {
    turn += 1
    immediate = setImmediate(next)
  }
  let immediate = setImmediate(next)
  const turns: number[] = []
  await Promise.all(Array.from({ length: 12 }, (_, i) => queue.run(i, async () => void turns.push(turn))))
  clearImmediate(immediate)
  assert.equal(new Set(turns).size, turns.length)
})
