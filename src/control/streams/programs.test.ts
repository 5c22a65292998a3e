import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate } from "node:timers/promises"
import type { ChannelStream } from "#channel"
import type { ExecProcess } from "#engine"
import { handleProgramMessage } from "./programs.ts"

test("a program gets one signal at a time, and each that waits once", async () => {
  const sent: string[] = []
  let deliver = () => {}
  const kill = (signal: string) => {
    sent.push(signal)
    return new Promise<void>((resolve) => (deliver = resolve))
  }
  const process = { kill } as unknown as ExecProcess
  for (let n = 0; n < 1_000; n += 1) {
    handleProgramMessage(process, {} as ChannelStream, { signal: n % 2 === 0 ? "SIGTERM" : "SIGINT" })
  }
  assert.deepEqual(sent, ["SIGTERM"])
  for (const expected of [2, 3, 3]) {
    deliver()
    await setImmediate()
    assert.equal(sent.length, expected)
  }
  assert.deepEqual(sent, ["SIGTERM", "SIGINT", "SIGTERM"])
})
