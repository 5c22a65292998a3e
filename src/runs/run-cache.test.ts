import assert from "node:assert/strict"
import { test } from "node:test"
import type { RunRow } from "#store"
import { RunCache } from "./run-cache.ts"

const address = { host: "127.0.0.1", port: 5 }

function row(fields: Partial<RunRow>): RunRow {
  const spec = { type: "jupyterlab", secret: "s" }
  return { id: 1, key: "a".repeat(32), userId: 2, projectId: 3, state: "starting", version: 1, spec, ...fields } as unknown as RunRow
}

test("an older row from a late reader is ignored, also after the run's end", () => {
  const changes: string[] = []
  const runCache = new RunCache()
  using _ = runCache.onChange(({ state }) => changes.push(state))
  runCache.publish(row({ state: "ready", version: 4 }))
  runCache.publish(row({ state: "starting", version: 3 }))
  runCache.publish(row({ state: "ready", version: 4 }))
  runCache.publish(row({ state: "ended", version: 6 }))
  runCache.publish(row({ state: "stopping", version: 5 }))
  assert.deepEqual(changes, ["ready", "ended"])
  assert.deepEqual(runCache.rows(), [])
  assert.equal(runCache.target(1), undefined)
  assert.equal(runCache.targetByKey("a".repeat(32)), undefined)
})

test("an address is known only while the run is ready", () => {
  const runCache = new RunCache()
  runCache.publish(row({ version: 1 }), address)
  assert.equal(runCache.target(1)?.address, undefined)
  runCache.publish(row({ version: 2, state: "ready" }), address)
  assert.deepEqual(runCache.targetByKey("a".repeat(32))?.address, address)
  runCache.publish(row({ version: 3, state: "ready" }))
  assert.deepEqual(runCache.target(1)?.address, address, "a later version of the row does not lose it")
  runCache.publish(row({ version: 4, state: "stopping" }))
  assert.equal(runCache.target(1)?.address, undefined)
})

test("listeners are notified of their run only, until they are disposed", () => {
  const runCache = new RunCache()
  const received: number[] = []
  {
    using _listening = runCache.listen(1, { changed: ({ version }) => received.push(version) })
    runCache.publish(row({ version: 1 }))
    runCache.publish(row({ id: 9, key: "b".repeat(32), version: 2 }))
  }
  runCache.publish(row({ version: 3 }))
  assert.deepEqual(received, [1])
})
