import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate } from "node:timers/promises"
import { handleProgramMessage } from "./programs.ts"

test("a program gets one signal at a time, and each that waits once", async () => {
  const sent: string[] = []
  let deliver = () => {}
  const kill = (signal: string) => {
    sent.push(signal)
    return new Promise<void>((resolve) => (deliver = resolve))
  }
  const process = { kill, resize: async () => {} }
  const stream = { fail: (code: string) => assert.fail(code) }
  for (let n = 0; n < 1_000; n += 1) {
    handleProgramMessage(process, stream, { signal: n % 2 === 0 ? "SIGTERM" : "SIGINT" })
  }
  assert.deepEqual(sent, ["SIGTERM"])
  for (const expected of [2, 3, 3]) {
    deliver()
    await setImmediate()
    assert.equal(sent.length, expected)
  }
  assert.deepEqual(sent, ["SIGTERM", "SIGINT", "SIGTERM"])
})
