import assert from "node:assert/strict"
import { test } from "node:test"
import { Failure } from "#contract"
import { healthProblems } from "./health-problems.ts"
import { readinessOf } from "./readiness.ts"

const amount = (used: number, total: number) => ({ used, total })
const works = { ok: true, msg: "" }

test("trouble names failed parts and full capacity, and nothing else", () => {
  const totals = { Cpus: amount(1, 8), Memory: amount(99, 100), Gpus: amount(0, 0) }
  const checks = { store: works, engine: { ok: false, msg: "no socket" }, files: works }
  assert.deepEqual(healthProblems({ checks, totals }), [
    { tone: "bad", text: "Engine: no socket" },
    { tone: "warn", text: "Memory: hardly anything is free." },
  ])
  assert.deepEqual(healthProblems({ checks: { ...checks, engine: works }, totals: { ...totals, Memory: amount(0, 1) } }), [])
  assert.deepEqual(healthProblems({ checks: undefined, totals: undefined }), [])
})

test("a refusal of the check of readiness carries what each part says", () => {
  const checks = { store: works, engine: { ok: false, msg: "no socket" }, files: works }
  assert.deepEqual(readinessOf(new Failure("unavailable", "A part is not available", { extra: { checks } })), { ok: false, checks })
  assert.equal(readinessOf(new TypeError("fetch failed")), undefined)
})
