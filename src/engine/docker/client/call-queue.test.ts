import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { CallQueues } from "./call-queue.ts"

test("one person's starts leave room for the reads of others", async () => {
  const queues = new CallQueues()
  const started: string[] = []
  for (let n = 0; n < 100; n += 1) void queues.acquire("read", "ann", undefined).then(() => started.push("ann"))
  void queues.acquire("read", "bob", undefined).then(() => started.push("bob"))
  void queues.acquire("read", undefined, undefined).then(() => started.push("nobody"))
  await turn()
  assert.deepEqual(started.filter((owner) => owner !== "ann").sort(), ["bob", "nobody"])
})
