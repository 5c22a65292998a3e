import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { bounds } from "#contract"
import { ProbeLimiter } from "./probe-limiter.ts"

test("silent programs of one person delay only that person's other probes", async () => {
  const turns = new ProbeLimiter()
  const started: number[] = []
  const silent = Promise.withResolvers<void>()
  const probe = (userId: number) =>
    turns.run(userId, async () => {
      started.push(userId)
      if (userId === 1) await silent.promise
    })
  const all = [...Array.from({ length: 100 }, () => probe(1)), probe(2)]
  await turn()
  assert.equal(started.filter((userId) => userId === 1).length, bounds.containers.probes.value)
  assert.equal(started.filter((userId) => userId === 2).length, 1)
  silent.resolve()
  await Promise.all(all)
  assert.equal(started.length, 101)
})
