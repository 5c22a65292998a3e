import assert from "node:assert/strict"
import { test } from "node:test"
import type { Node } from "./scheduler.ts"
import { type QueueConditions, WaitExplainer } from "./wait-explanation.ts"

type LiveRun = ConstructorParameters<typeof WaitExplainer>[1][number]

const gpu = (id: string, memoryMiB = 16_384) => ({ id, model: "m", memoryMiB })
const node = (name: string, cpus: number, gpus: readonly string[] = []): Node => ({
  ...{ name, cpus, memoryMiB: 8_192, gpus: gpus.map((id) => gpu(id)) },
  ...{ faultyGpus: 0, largest: { cpus, memoryMiB: 8_192 } },
})
let lastId = 0
const holding = (nodeName: string, more: Partial<LiveRun>): LiveRun => ({
  ...{ id: ++lastId, userName: "ann", state: "ready", nodeNames: [nodeName], gpuDevices: [], expiresAt: null },
  ...{ nodes: 1, cpus: 0, memoryMiB: 0, gpus: 0, gpuMemoryMiB: 0 },
  ...more,
})
const at = (time: string) => Date.parse(`2026-11-22T${time}:00Z`)

interface Demand {
  cpus?: number
  memoryMiB?: number
  gpus?: number
  gpuMemoryMiB?: number
}

function explained(demand: Demand, ahead: number, live: readonly LiveRun[], conditions: Partial<QueueConditions>): string {
  const run = { nodes: 1, cpus: 1, memoryMiB: 1_024, gpus: 0, gpuMemoryMiB: 0, userName: "bob", ...demand }
  return new WaitExplainer({ nodes: [], containerDevices: new Set(), quotas: [], ...conditions }, live).explain(run, ahead)
}

test("names the missing resource and the latest time at which enough is free", () => {
  const nodes = [node("n", 8, ["a", "b"])]
  const live = [
    holding("n", { gpus: 1, gpuDevices: ["a"], expiresAt: at("16:40") }),
    holding("n", { gpus: 1, gpuDevices: ["b"], expiresAt: at("15:10") }),
  ]
  assert.equal(explained({ gpus: 2 }, 0, live, { nodes }), "waits for 2 GPUs; the next are free by 2026-11-22 16:40 UTC at the latest")
  assert.equal(explained({ gpus: 1 }, 0, live, { nodes }), "waits for 1 GPU; the next are free by 2026-11-22 15:10 UTC at the latest")
})

test("names no time when a run without an end is in the way", () => {
  const live = [holding("n", { cpus: 3 }), holding("n", { cpus: 1, expiresAt: at("15:10") })]
  assert.equal(explained({ cpus: 4 }, 0, live, { nodes: [node("n", 4)] }), "waits for 4 CPUs")
})

test("names all that is missing, on the node that has room first", () => {
  const nodes = [node("n", 4), node("m", 4)]
  const live = [holding("n", { cpus: 4, expiresAt: at("18:00") }), holding("m", { cpus: 4, memoryMiB: 8_192, expiresAt: at("17:00") })]
  assert.equal(
    explained({ cpus: 2 }, 2, live, { nodes }),
    "waits for 2 CPUs and 1024 MiB of memory behind 2 earlier runs; the next are free by 2026-11-22 17:00 UTC at the latest",
  )
})

test("a device that is too small, or held by an unknown container, does not count as free", () => {
  const nodes = [{ ...node("n", 8), gpus: [gpu("large"), gpu("small", 4_096)] }]
  const live = [holding("n", { gpus: 1, gpuDevices: ["small"], expiresAt: at("12:00") })]
  const containerDevices = new Set(["large"])
  assert.equal(explained({ gpus: 1, gpuMemoryMiB: 8_192 }, 0, live, { nodes, containerDevices }), "waits for 1 GPU with 8192 MiB each")
})

test("says that earlier runs come first while resources are free", () => {
  const nodes = [node("n", 4)]
  assert.equal(explained({}, 1, [], { nodes }), "waits for an earlier run, which may take the free resources first")
  assert.equal(explained({}, 0, [], { nodes }), "waits to be started")
})

test("says that no node is large enough any more", () => {
  const text = "waits for a node with 16 CPUs and 1024 MiB of memory; there is none at present"
  assert.equal(explained({ cpus: 16 }, 0, [], { nodes: [node("n", 4)] }), text)
  assert.equal(explained({ cpus: 16 }, 0, [], {}), text)
})

test("names the group whose limit is reached, to its members only", () => {
  const quotas = [{ groupName: "lab", limits: { MaxRuns: 1 }, members: new Set(["ann", "bob"]) }]
  const conditions = { nodes: [node("n", 4)], quotas }
  const live = [holding("n", { cpus: 1 })]
  assert.equal(explained({}, 0, live, conditions), "waits until the members of lab hold less: the limit of the whole group is reached")
  const others = { ...conditions, quotas: quotas.map((quota) => ({ ...quota, members: new Set(["ann"]) })) }
  assert.equal(explained({}, 0, live, others), "waits to be started")
})
