import assert from "node:assert/strict"
import { test } from "node:test"
import type { List, RunningProject, ServerEvent } from "#contract"
import { operationsToRefetch, patchRun, patchRuns } from "./event-effects.ts"

const event = (name: string, data: object = {}) => ({ id: "1", event: name, data }) as ServerEvent
const run = (ID: number, State: string) =>
  ({ ID, State, Progress: { step: "layers", current: 1, total: 2, unit: "layers" } }) as RunningProject

test("an event makes the reads of its resource stale, and those that contain it", () => {
  const reads = operationsToRefetch(event("image.updated", { ID: 1 }))
  assert.ok(reads.includes("listImages") && reads.includes("readProject"))
  assert.ok(operationsToRefetch(event("run.state")).includes("listRuns"))
  assert.deepEqual(operationsToRefetch(event("unknown.verb")), [])
})

test("missed events make every read stale, and progress makes none", () => {
  assert.equal(operationsToRefetch(event("reset")), "all")
  assert.deepEqual(operationsToRefetch(event("run.progress")), [])
})

test("progress and state of a run are patched, and other runs stay the same objects", () => {
  const list = { data: [run(1, "pulling"), run(2, "ready")], page: 1, pageCount: 1, pageSize: 20 } as List<RunningProject>
  const progress = { step: "layers", current: 2, total: 2, unit: "layers" }
  const after = patchRuns(list, event("run.progress", { ID: 1, Progress: progress }))
  assert.deepEqual(after.data[0]?.Progress, progress)
  assert.equal(after.data[1], list.data[1])
  assert.equal(patchRuns(list, event("run.progress", { ID: 9, Progress: progress })), list)
})

test("a new state ends the progress of the state before", () => {
  const moved = patchRun(run(1, "pulling"), event("run.state", { ID: 1, State: "creating" }))
  assert.deepEqual([moved.State, moved.Progress], ["creating", null])
  assert.notEqual(patchRun(run(1, "pulling"), event("run.state", { ID: 1, State: "pulling" })).Progress, null)
})
