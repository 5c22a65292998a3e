import assert from "node:assert/strict"
import { test } from "node:test"
import type { Capacity, RunningProject } from "#contract"
import { devicesWithRuns, totalsOf } from "./devices.ts"

const device = (ID: string, RunID: number | null) => ({ ID, Model: "H200", Memory: 1024, RunID })
const capacity: Pick<Capacity, "nodes"> = {
  nodes: [
    {
      Name: "a",
      Cpus: { total: 8, free: 2 },
      Memory: { total: 100, free: 40 },
      Gpus: { total: 2, free: 1 },
      Devices: [device("a0", null), device("a1", 7)],
    },
    { Name: "b", Cpus: { total: 4, free: 4 }, Memory: { total: 10, free: 10 }, Gpus: { total: 1, free: 0 }, Devices: [device("b0", 8)] },
  ],
}

test("devices in use come first, with their run if the list has it", () => {
  const run = { ID: 7, UserName: "ann" } as RunningProject
  const held = devicesWithRuns(capacity, [run])
  assert.deepEqual(
    held.map(({ id, runId }) => [id, runId]),
    [
      ["a1", 7],
      ["b0", 8],
      ["a0", null],
    ],
  )
  assert.deepEqual(
    held.map((each) => each.run?.UserName),
    ["ann", undefined, undefined],
  )
})

test("totals add up what nodes have and use", () => {
  assert.deepEqual(totalsOf(capacity), {
    Cpus: { total: 12, used: 6 },
    Memory: { total: 110, used: 60 },
    Gpus: { total: 3, used: 2 },
  })
})
