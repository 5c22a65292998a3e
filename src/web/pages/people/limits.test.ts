import assert from "node:assert/strict"
import { test } from "node:test"
import {
  choiceOf,
  defaultLimitText,
  formatLimit,
  fromFormAmount,
  limitInForce,
  summarizeLimits,
  toFormAmount,
  usageOf,
  withLimit,
} from "./limits.ts"

test("the lowest limit of a person and their groups is in force, with its origin", () => {
  const groups = [
    { GroupName: "chemistry", Limits: { MaxCpus: 8, MaxGpus: null } },
    { GroupName: "students", Limits: { MaxCpus: 4 } },
  ]
  assert.deepEqual(limitInForce("MaxCpus", { MaxCpus: 16 }, groups), { limit: 4, group: "students" })
  assert.deepEqual(limitInForce("MaxCpus", { MaxCpus: null }, groups), { limit: 4, group: "students" })
  assert.deepEqual(limitInForce("MaxCpus", { MaxCpus: 0 }, groups), { limit: 0, group: "" })
  assert.deepEqual(limitInForce("MaxGpus", {}, groups), { limit: null, group: "chemistry" })
  assert.deepEqual(limitInForce("MaxRuns", {}, groups), { limit: undefined, group: "" })
})

test("a limit that nobody set is the default, and none for administrators", () => {
  const defaults = { MaxRuns: 50, MaxStorage: 102_400, MaxGpus: null }
  const texts = (IsAdmin: boolean) =>
    (["MaxRuns", "MaxStorage", "MaxGpus"] as const).map((name) => defaultLimitText(name, { IsAdmin }, defaults))
  assert.deepEqual(texts(false), ["50", "100 GiB", "Unlimited"])
  assert.deepEqual(texts(true), ["Unlimited", "Unlimited", "Unlimited"])
  assert.equal(defaultLimitText("MaxRuns", { IsAdmin: false }, undefined), undefined)
})

test("a choice of a limit keeps the others, and the default removes it", () => {
  assert.deepEqual(withLimit({ MaxRuns: 1, MaxCpus: 2 }, "MaxCpus", null), { MaxRuns: 1, MaxCpus: null })
  assert.deepEqual(withLimit({ MaxRuns: 1, MaxCpus: 2 }, "MaxCpus", undefined), { MaxRuns: 1 })
  assert.deepEqual([undefined, null, 0].map(choiceOf), ["default", "unlimited", "amount"])
})

test("limits of memory are asked for in GiB and shown with their unit", () => {
  assert.equal(toFormAmount("MaxMemory", 2048), 2)
  assert.equal(fromFormAmount("MaxStorage", 1.5), 1536)
  assert.equal(fromFormAmount("MaxRuns", 5), 5)
  assert.equal(formatLimit("MaxStorage", 102_400), "100 GiB")
  assert.equal(formatLimit("IdleMinutes", 1), "1 minute")
  assert.equal(summarizeLimits({ MaxGpus: 4, MaxRuns: null }), "Runs at once: Unlimited, GPUs: 4")
})

test("queued runs count towards each limit", () => {
  const run = { Cpus: 2, Memory: 1024, Gpus: 1 }
  const usage = usageOf([
    { ...run, State: "ready" },
    { ...run, State: "queued" },
  ])
  assert.deepEqual(usage, { MaxRuns: 2, MaxQueued: 1, MaxCpus: 4, MaxMemory: 2048, MaxGpus: 2 })
})
