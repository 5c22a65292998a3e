import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { CallQueues } from "./call-queue.ts"

for (const kind of ["read", "remove"] as const) {
  test(`one person's calls leave room for those of others: ${kind}`, async () => {
    const queues = new CallQueues()
    const started: string[] = []
    for (let n = 0; n < 100; n += 1) void queues.acquire(kind, "ann", undefined).then(() => started.push("ann"))
    void queues.acquire(kind, "bob", undefined).then(() => started.push("bob"))
    void queues.acquire(kind, undefined, undefined).then(() => started.push("nobody"))
    await turn()
    assert.deepEqual(started.filter((owner) => owner !== "ann").sort(), ["bob", "nobody"])
  })
}
