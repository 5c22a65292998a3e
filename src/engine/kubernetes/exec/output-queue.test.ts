import assert from "node:assert/strict"
import { test } from "node:test"
import { OutputQueue } from "./output-queue.ts"

test("a program that prints single bytes waits before they take megabytes of memory", () => {
  const queue = new OutputQueue()
  const piece = { stream: "stdout", data: Buffer.of(1) } as const
  let count = 0
  for (; !queue.isFull && count < 100_000; count += 1) queue.push(piece)
  assert.ok(count < 10_000, `${count} pieces`)
  queue.shift()
  assert.equal(queue.isFull, false)
  while (queue.shift()) count -= 1
  assert.equal(count, 1)
})
