import assert from "node:assert/strict"
import { test } from "node:test"
import type { RunRow } from "#store"
import { DeletedLimits } from "./deleted-limits.ts"

const mib = 2 ** 20

/** Ann has two runs and may store 100 MiB. Resolves with the runs that end. */
function limitsOf({ counted, atNextCount }: { counted: number; atNextCount?: number }) {
  const stored = { counted, atNextCount }
  const ended: string[] = []
  const rows = ["first", "second"].map((key) => ({ key, userName: "ann", state: "ready" }) as RunRow)
  const quota = () => ({ maxBytes: 100 * mib, groups: [], counted: { ann: stored.counted * mib } })
  const limits = new DeletedLimits({ runCache: { rows: () => rows } } as never, {
    quotas: { quotaOf: async () => quota() as never },
    count: async () => {
      stored.counted = stored.atNextCount ?? stored.counted
    },
    end: async ({ key }) => void ended.push(key),
  })
  const check = async (first: number, second: number) => {
    await limits.check((key) => (key === "first" ? first : second) * mib)
    return ended.splice(0)
  }
  return { stored, check }
}

test("the run that has most deleted files open ends once their person stores more than the limit", async () => {
  const { check } = limitsOf({ counted: 60 })
  assert.deepEqual(await check(10, 0), [])
  assert.deepEqual(await check(10, 29), [])
  assert.deepEqual(await check(10, 35), ["second"])
  assert.deepEqual(await check(10, 0), [])
})

test("no run ends beyond the limit unless more is stored: not after a restart, nor for files that become deleted ones", async () => {
  const { check, stored } = limitsOf({ counted: 90 })
  assert.deepEqual(await check(50, 50), [])
  stored.counted = 40
  assert.deepEqual(await check(50, 100), [])
  assert.deepEqual(await check(50, 104), ["second"])
})

test("a file that was deleted since the last count is not counted twice", async () => {
  const { check, stored } = limitsOf({ counted: 90 })
  assert.deepEqual(await check(0, 0), [])
  stored.atNextCount = 40
  assert.deepEqual(await check(50, 0), [])
})

test("a run whose open files cannot be examined is judged on a full disk only", async () => {
  const { check } = limitsOf({ counted: 60 })
  assert.deepEqual(await check(10, 0), [])
  assert.deepEqual(await check(10, Number.POSITIVE_INFINITY), [])
})
