import assert from "node:assert/strict"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { createReadiness } from "./readiness.ts"

function countedReadiness() {
  const clock = new ManualClock()
  const checks: PromiseWithResolvers<void>[] = []
  const check = () => {
    const asked = Promise.withResolvers<void>()
    checks.push(asked)
    return asked.promise
  }
  const engine = { check, ping: check }
  return {
    clock,
    checks,
    readiness: createReadiness({ clock, store: { check: async () => {} }, engine, files: undefined, runs: undefined, apps: undefined }),
  }
}

test("any number of questions at once are one check, and one that follows soon is none", async () => {
  const { clock, checks, readiness } = countedReadiness()
  const answers = Promise.all(Array.from({ length: 1_000 }, readiness))
  assert.equal(checks.length, 1)
  await clock.advance(60_000)
  checks[0]?.resolve()
  assert.deepEqual(new Set((await answers).map(({ engine }) => engine.ok)), new Set([true]))
  await readiness()
  assert.equal(checks.length, 1)
})

test("a later question is checked anew, whatever the last answer was", async () => {
  const { clock, checks, readiness } = countedReadiness()
  const first = readiness()
  checks[0]?.reject(new Error("away"))
  assert.deepEqual((await first).engine, { ok: false, msg: "away" })
  await clock.advance(500)
  const second = readiness()
  checks[1]?.resolve()
  assert.deepEqual((await second).engine, { ok: true, msg: "" })
})
