import assert from "node:assert/strict"
import { test } from "node:test"
import { silentLogger, systemClock } from "#kit"
import type { Change } from "#store"
import type { RunsContext } from "../context.ts"
import { ActivityTracker } from "./activity-tracker.ts"

test("the activity of hundreds of runs is written in several transactions", async () => {
  const written: number[] = []
  const closing = new AbortController()
  let count = 0
  const runs = {
    async transition() {
      count += 1
    },
  }
  const ctx = {
    ...{ clock: systemClock, logger: silentLogger, closed: closing.signal, settings: { activityEveryMs: 1 } },
    runCache: { row: () => ({ state: "ready" }), onChange: () => ({ [Symbol.dispose]() {} }) },
    change: async (work: (tx: Change) => Promise<void>) => {
      count = 0
      await work({ runs } as unknown as Change)
      written.push(count)
    },
  } as unknown as RunsContext
  const tracker = new ActivityTracker(ctx)
  for (let id = 1; id <= 300; id += 1) tracker.mark(id)
  closing.abort()
  await tracker.run()
  assert.equal(
    written.reduce((sum, each) => sum + each, 0),
    300,
  )
  assert.ok(Math.max(...written) <= 20, written.join(" "))
})
