import assert from "node:assert/strict"
import { test } from "node:test"
import { BatchedWriter } from "./batched-writer.ts"
import { ManualClock } from "./clock.ts"

test("texts added within the wait are written together, in order", async () => {
  const written: string[] = []
  const clock = new ManualClock()
  const log = new BatchedWriter((text) => written.push(text), { clock, waitMs: 100 })
  for (const text of ["a\n", "b\n"]) log.add(text)
  assert.deepEqual(written, [])
  await clock.advance(100)
  assert.deepEqual(written, ["a\nb\n"])
  log.add("c\n")
  await clock.advance(100)
  assert.deepEqual(written, ["a\nb\n", "c\n"])
})

test("flush writes buffered texts at once, and only once", async () => {
  const written: string[] = []
  const clock = new ManualClock()
  const log = new BatchedWriter((text) => written.push(text), { clock, waitMs: 100 })
  log.add("a\n")
  log.add("b\n")
  log.flush()
  await clock.advance(100)
  assert.deepEqual(written, ["a\nb\n"])
})

test("the buffer is written as soon as it reaches its limit", () => {
  const written: string[] = []
  const log = new BatchedWriter((text) => written.push(text), { clock: new ManualClock(), maxChars: 10 })
  for (let i = 0; i < 5; i += 1) log.add("123456\n")
  assert.deepEqual(
    written.map((text) => text.length),
    [14, 14],
  )
})
