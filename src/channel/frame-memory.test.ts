import assert from "node:assert/strict"
import { test } from "node:test"
import { giveBackFrame, takeFrame } from "./frame-memory.ts"
import { maxDataFrameBytes } from "./frames.ts"

test("a frame's memory serves another frame once it is given back, and not before", () => {
  const [first, second] = [takeFrame(maxDataFrameBytes), takeFrame(2_000)]
  assert.notEqual(first.buffer, second.buffer)
  giveBackFrame(second)
  const third = takeFrame(maxDataFrameBytes)
  assert.equal(third.buffer, second.buffer)
  assert.equal(third.length, maxDataFrameBytes)
})

test("only so much memory of frames is kept", () => {
  const frames = Array.from({ length: 1_000 }, () => takeFrame(maxDataFrameBytes))
  for (const frame of frames) giveBackFrame(frame)
  const kept = Array.from({ length: 1_000 }, () => takeFrame(maxDataFrameBytes)).filter(({ buffer }) =>
    frames.some((frame) => frame.buffer === buffer),
  )
  assert.equal(kept.length, 64)
  assert.equal(takeFrame(100).buffer.byteLength, 100, "a short frame has memory of its own")
})
