import assert from "node:assert/strict"
import { test } from "node:test"
import { allocateFrame, releaseFrame } from "./frame-pool.ts"
import { maxDataFrameBytes } from "./frames.ts"

test("a frame's memory serves another frame once it is given back, and not before", () => {
  const [first, second] = [allocateFrame(maxDataFrameBytes), allocateFrame(2_000)]
  assert.notEqual(first.buffer, second.buffer)
  releaseFrame(second)
  const third = allocateFrame(maxDataFrameBytes)
  assert.equal(third.buffer, second.buffer)
  assert.equal(third.length, maxDataFrameBytes)
})

test("only so much memory of frames is kept", () => {
  const frames = Array.from({ length: 1_000 }, () => allocateFrame(maxDataFrameBytes))
  for (const frame of frames) releaseFrame(frame)
  const kept = Array.from({ length: 1_000 }, () => allocateFrame(maxDataFrameBytes)).filter(({ buffer }) =>
    frames.some((frame) => frame.buffer === buffer),
  )
  assert.equal(kept.length, 64)
  assert.equal(allocateFrame(100).buffer.byteLength, 100, "a short frame has memory of its own")
})
