import assert from "node:assert/strict"
import { test } from "node:test"
import { Refresher } from "./refresher.ts"

test("an answer is read again at once after an event, and ever more rarely while events keep coming", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] })
  let reads = 0
  const refresher = new Refresher((operation) => {
    if (operation === "listProjects") reads += 1
  })
  const eventsFor = (ms: number) => {
    for (let at = 0; at < ms; at += 10) {
      refresher.add(["listProjects"])
      t.mock.timers.tick(10)
    }
  }
  refresher.add(["listProjects"])
  assert.equal(reads, 1)
  eventsFor(60_000)
  assert.ok(reads >= 12 && reads <= 18, `${reads} reads in a minute`)
  for (let pause = 0; pause < 4; pause += 1) t.mock.timers.tick(5_000)
  reads = 0
  refresher.add(["listProjects"])
  assert.equal(reads, 1, "after a pause without events at once")
  refresher.add(["listProjects"])
  t.mock.timers.tick(700)
  assert.equal(reads, 2)
  refresher.add(["listProjects"])
  refresher.stop()
  t.mock.timers.tick(20_000)
  assert.equal(reads, 2)
})

test("frequent events about one answer delay no other", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] })
  const reads: string[] = []
  const refresher = new Refresher((operation) => void reads.push(operation))
  for (let i = 0; i < 1_000; i += 1) {
    refresher.add(["listProjects"])
    t.mock.timers.tick(10)
  }
  reads.length = 0
  refresher.add(["listProjects", "listRuns"])
  assert.deepEqual(reads, ["listRuns"])
  refresher.stop()
})
