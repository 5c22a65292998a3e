import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { bounds } from "#contract"
import { ProbeLimiter } from "./probe-limiter.ts"

test("silent programs of one person delay only that person's other probes", async () => {
  const turns = new ProbeLimiter()
  const begun: number[] = []
  const silent = Promise.withResolvers<void>()
  const ask = (userId: number) =>
    turns.run(userId, async () => {
      begun.push(userId)
      if (userId === 1) await silent.promise
    })
  const all = [...Array.from({ length: 100 }, () => ask(1)), ask(2)]
  await turn()
  assert.equal(begun.filter((userId) => userId === 1).length, bounds.containers.probes.value)
  assert.equal(begun.filter((userId) => userId === 2).length, 1)
  silent.resolve()
  await Promise.all(all)
  assert.equal(begun.length, 101)
})
