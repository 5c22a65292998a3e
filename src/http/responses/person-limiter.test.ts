import assert from "node:assert/strict"
import { test } from "node:test"
import { PersonLimiter } from "./person-limiter.ts"

test("work beyond a person's limit waits and then is refused; other people are unaffected", { timeout: 10_000 }, async () => {
  const limiter = new PersonLimiter({ maxRunning: 2, maxWaiting: 1, message: (count) => `${count} checks of yours` })
  const started: number[] = []
  const gate = Promise.withResolvers<void>()
  const begin = (userId: number) =>
    limiter.run(userId, async () => {
      started.push(userId)
      await gate.promise
    })
  const accepted = [begin(1), begin(1), begin(1)]
  await assert.rejects(begin(1), { status: 429, code: "too_many_requests", message: /^3 checks of yours/ })
  accepted.push(begin(2))
  assert.deepEqual(started, [1, 1, 2])
  gate.resolve()
  await Promise.all(accepted)
  await begin(1)
  assert.deepEqual(started, [1, 1, 2, 1, 1])
})
