import assert from "node:assert/strict"
import { test } from "node:test"
import type { RunRow } from "#store"
import { limitRefusal, type RunLimits, sumResources } from "./quotas.ts"
import { allocatableNodes, availableNodes, schedule, unschedulableReason } from "./scheduler.ts"

const plain = { cpuOvercommit: 1, memoryOvercommit: 1, reserve: { cpus: 0, memoryMiB: 0 } }
const gpu = (id: string, memoryMiB = 16_384) => ({ id, model: "m", memoryMiB })
const node = (name: string, cpus: number, gpus: ReturnType<typeof gpu>[] = []) => ({ name, cpus, memoryMiB: cpus * 1_000, gpus })

let ids = 0
function run(fields: Partial<RunRow> = {}) {
  ids += 1
  return {
    id: ids,
    userName: "ann",
    state: "queued" as const,
    cpus: 1,
    memoryMiB: 0,
    nodes: 1,
    gpus: 0,
    gpuMemoryMiB: 0,
    nodeNames: [],
    gpuDevices: [],
    ...fields,
  }
}

test("allocatable capacity counts reserve and overcommit, and one run never gets more than a node has", () => {
  const [counted] = allocatableNodes([node("a", 4)], { cpuOvercommit: 4, memoryOvercommit: 1.5, reserve: { cpus: 1, memoryMiB: 1_000 } })
  assert.deepEqual({ cpus: counted?.cpus, memoryMiB: counted?.memoryMiB }, { cpus: 12, memoryMiB: 4_500 })
  assert.deepEqual(counted?.largest, { cpus: 4, memoryMiB: 4_000 })
  const tiny = allocatableNodes([node("a", 1)], { ...plain, reserve: { cpus: 2, memoryMiB: 9_999 } })
  assert.deepEqual([tiny[0]?.cpus, tiny[0]?.memoryMiB], [0, 0])
})

test("a request that no node can satisfy is rejected with the resource and the largest node's amount", () => {
  const nodes = allocatableNodes([node("a", 4, [gpu("x", 8_000)]), node("b", 8)], plain)
  assert.match(unschedulableReason(run({ cpus: 9 }), nodes)?.msg ?? "", /9 CPUs; the largest has 8/)
  assert.equal(unschedulableReason(run({ memoryMiB: 8_001 }), nodes)?.code, "insufficient_memory")
  assert.equal(unschedulableReason(run({ gpus: 2 }), nodes)?.code, "insufficient_gpu")
  assert.match(
    unschedulableReason(run({ gpus: 1, gpuMemoryMiB: 8_001 }), nodes)?.msg ?? "",
    /1 GPU with 8001 MiB each; the largest has 0 of them; the largest GPU has 8000 MiB/,
  )
  assert.equal(unschedulableReason(run({ cpus: 8, gpus: 1 }), nodes)?.code, "insufficient_gpu")
  const none = unschedulableReason(run({ gpus: 1 }), allocatableNodes([node("a", 4)], plain))
  assert.deepEqual([none?.msg, none?.hint?.split(",")[0]], ["No node has a GPU", "Start it without GPUs"])
  assert.equal(unschedulableReason(run({ cpus: 4, gpus: 1 }), nodes), undefined)
  assert.equal(unschedulableReason(run(), [])?.code, "insufficient_cpu")
})

test("a person's limits count all of their live runs and the new one", () => {
  const own = [run({ cpus: 2, memoryMiB: 100, gpus: 1 }), run({ cpus: 1, memoryMiB: 100 })]
  const one = run({ cpus: 1, memoryMiB: 50, gpus: 1 })
  const over = (limits: RunLimits, held = own) => limitRefusal(one, sumResources(held), { limits, quotas: [] })
  assert.equal(over({ MaxRuns: 3, MaxCpus: 4, MaxMemory: 250, MaxGpus: 2 }), undefined)
  assert.equal(over({ MaxRuns: null }), undefined)
  for (const limits of [{ MaxRuns: 2 }, { MaxCpus: 3 }, { MaxMemory: 249 }, { MaxGpus: 1 }]) {
    assert.equal(over(limits)?.code, "quota_exceeded")
  }
  assert.match(over({ MaxCpus: 3 })?.msg ?? "", /person's limit is 3 CPUs; with this run it would be 4/)
  assert.equal(over({ MaxRuns: 0 }, [])?.code, "quota_exceeded")
  const quotas = [{ groupName: "lab", limits: { MaxGpus: 1 }, members: new Set(["ann", "bob"]) }]
  assert.match(
    limitRefusal(one, sumResources(own), { limits: {}, quotas })?.msg ?? "",
    /all members of lab together is 1 GPUs; with this run it would be 2/,
  )
  assert.equal(limitRefusal(one, sumResources([]), { limits: {}, quotas }), undefined)
})

test("a group's quota makes its members wait for each other in order, and nobody else", () => {
  const nodes = allocatableNodes([node("a", 16)], plain)
  const lab = { groupName: "lab", limits: { MaxCpus: 4 }, members: new Set(["ann", "bob"]) }
  const holder = run({ userName: "bob", state: "ready", cpus: 2, nodeNames: ["a"] })
  const [large, small, stranger] = [run({ cpus: 4 }), run({ userName: "bob", cpus: 1 }), run({ userName: "eve", cpus: 14 })]
  const placed = (live: RunRow[]) => [...schedule({ nodes, live, quotas: [lab] }).keys()]
  assert.deepEqual(
    placed([holder, large, small, stranger] as RunRow[]),
    [stranger.id],
    "what the older waits for is kept back from the younger",
  )
  assert.deepEqual(placed([holder, small] as RunRow[]), [small.id])
  assert.deepEqual(placed([large, small] as RunRow[]), [large.id])
})

test("the oldest run starts first, and small runs overtake a large one only without delaying it", () => {
  const nodes = allocatableNodes([node("a", 4), node("b", 2)], plain)
  const holder = run({ userName: "bob", state: "ready", cpus: 2, nodeNames: ["a"] })
  const [large, small, other] = [run({ cpus: 4 }), run({ cpus: 2 }), run({ cpus: 1 })]
  const placements = schedule({ nodes, live: [holder, large, small, other] })
  assert.equal(placements.has(large.id), false)
  assert.deepEqual(placements.get(small.id)?.nodeNames, ["b"])
  assert.equal(placements.has(other.id), false, "two CPUs of node a are free, but the large one waits for them")
})

test("a run that waits for its own person's runs keeps nothing from others", () => {
  const nodes = allocatableNodes([node("a", 8, [gpu("x")]), node("b", 4)], plain)
  const placed = (live: Parameters<typeof schedule>[0]["live"]) => [...schedule({ nodes, live }).keys()]
  const small = run({ userName: "eve", state: "ready", nodeNames: ["a"] })
  const withGpu = run({ userName: "eve", state: "ready", gpus: 1, gpuDevices: ["x"], nodeNames: ["a"] })
  const others = [run({ cpus: 3 }), run({ userName: "bob", cpus: 4 })]
  const ids = others.map(({ id }) => id)
  assert.deepEqual(placed([small, run({ userName: "eve", cpus: 8 }), ...others]), ids)
  assert.deepEqual(placed([withGpu, run({ userName: "eve", cpus: 7, gpus: 1 }), ...others]), ids)
  assert.deepEqual(placed([small, run({ userName: "carl", cpus: 8 }), run({ cpus: 5 })]), [], "carl waits for eve's")
})

test("a run that waits for GPUs does not block runs without GPUs on the rest of its node", () => {
  const nodes = allocatableNodes([node("a", 8, [gpu("x")])], plain)
  const holder = run({ userName: "bob", state: "ready", gpus: 1, gpuDevices: ["x"], nodeNames: ["a"] })
  const [waiting, small, second] = [run({ gpus: 1 }), run({ cpus: 6 }), run({ cpus: 1 })]
  const placements = schedule({ nodes, live: [holder, waiting, small, second] })
  assert.deepEqual([...placements.keys()], [small.id])
})

test("the smallest sufficient free device is allocated", () => {
  const nodes = allocatableNodes(
    [node("a", 8, [gpu("large", 80_000), gpu("small", 16_000), gpu("middle", 24_000), gpu("stray", 16_000)])],
    plain,
  )
  const [one, two, three] = [run({ gpus: 1 }), run({ gpus: 1, gpuMemoryMiB: 20_000 }), run({ gpus: 1 })]
  const placements = schedule({ nodes, live: [one, two, three], containerDevices: new Set(["stray"]) })
  assert.deepEqual(placements.get(one.id)?.gpuDevices, ["small"])
  assert.deepEqual(placements.get(two.id)?.gpuDevices, ["middle"])
  assert.deepEqual(placements.get(three.id)?.gpuDevices, ["large"])
})

test("runs without GPUs avoid nodes with GPUs while other nodes have room", () => {
  const nodes = allocatableNodes([node("gpus", 64, [gpu("x")]), node("plain", 2)], plain)
  const runs = [run({ cpus: 1 }), run({ cpus: 1 }), run({ cpus: 1 })]
  const placements = schedule({ nodes, live: runs })
  assert.deepEqual(
    runs.map(({ id }) => placements.get(id)?.nodeNames[0]),
    ["plain", "plain", "gpus"],
  )
})

test("every live state but `queued` reserves its resources, and a node that shrank has none free", () => {
  const nodes = allocatableNodes([node("a", 4)], plain)
  const states = ["pulling", "creating", "starting", "ready", "stopping"] as const
  const live = states.map((state) => run({ state, cpus: 1, nodeNames: ["a"] }))
  assert.equal(availableNodes({ nodes, live })[0]?.cpus, -1)
  assert.equal(schedule({ nodes, live: [...live, run({ cpus: 0, memoryMiB: 0 })] }).size, 0)
})
