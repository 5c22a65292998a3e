import type { Reason, ReasonCode } from "#contract"
import type { GpuDevice, NodeCapacity } from "#engine"
import type { RunRow } from "#store"
import { type Cap, Shares } from "./quota.ts"
import type { RunSettings } from "./settings.ts"

/** What a run takes. Memory is MiB; `gpuMemoryMiB` is what each of its GPUs must have at least. */
export type Demand = Pick<RunRow, "cpus" | "memoryMiB" | "gpus" | "gpuMemoryMiB">

export interface Placement {
  nodeNames: string[]
  gpuDevices: string[]
}

/**
 * A node as admission counts it: `cpus` and `memoryMiB` after reserve and overcommit, `largest`
 * what a single run can get.
 */
export interface Node {
  name: string
  cpus: number
  memoryMiB: number
  gpus: GpuDevice[]
  largest: { cpus: number; memoryMiB: number }
}

export type HandingOut = Pick<RunSettings, "cpuOvercommit" | "memoryOvercommit" | "reserve">

export function countNodes(capacity: readonly NodeCapacity[], { cpuOvercommit, memoryOvercommit, reserve }: HandingOut): Node[] {
  return capacity.map((node) => {
    const cpus = Math.max(0, Math.floor((node.cpus - reserve.cpus) * cpuOvercommit))
    const memoryMiB = Math.max(0, Math.floor((node.memoryMiB - reserve.memoryMiB) * memoryOvercommit))
    const largest = { cpus: Math.min(cpus, node.cpus), memoryMiB: Math.min(memoryMiB, node.memoryMiB) }
    return { name: node.name, cpus, memoryMiB, gpus: [...node.gpus], largest }
  })
}

/** Why no node could ever hold it, all of them being empty; undefined when one could. */
export function tooLarge(demand: Demand, nodes: readonly Node[]): Reason | undefined {
  if (nodes.some((node) => couldHold(node, demand))) return undefined
  const cpus = Math.max(0, ...nodes.map((node) => node.largest.cpus))
  if (demand.cpus > cpus) return insufficient("insufficient_cpu", `No node has ${demand.cpus} CPUs; the largest has ${cpus}`)
  const memory = Math.max(0, ...nodes.map((node) => node.largest.memoryMiB))
  if (demand.memoryMiB > memory) {
    return insufficient("insufficient_memory", `No node has ${demand.memoryMiB} MiB of memory for runs; the largest has ${memory} MiB`)
  }
  const gpus = Math.max(0, ...nodes.map((node) => fitting(node.gpus, demand).length))
  const each = demand.gpuMemoryMiB > 0 ? ` with ${demand.gpuMemoryMiB} MiB each` : ""
  const best = Math.max(0, ...nodes.flatMap((node) => node.gpus.map(({ memoryMiB }) => memoryMiB)))
  const most = each === "" ? "" : ` of them; the largest GPU has ${best} MiB`
  if (demand.gpus > gpus) return insufficient("insufficient_gpu", `No node has ${demand.gpus} GPUs${each}; the largest has ${gpus}${most}`)
  return insufficient(demand.gpus > 0 ? "insufficient_gpu" : "insufficient_memory", "No single node has all of what was asked for together")
}

function insufficient(code: ReasonCode, msg: string): Reason {
  return { code, msg }
}

function couldHold(node: Node, demand: Demand): boolean {
  const { largest, gpus } = node
  return demand.cpus <= largest.cpus && demand.memoryMiB <= largest.memoryMiB && fitting(gpus, demand).length >= demand.gpus
}

/** Devices with enough memory, those with the least first. */
function fitting(gpus: readonly GpuDevice[], { gpuMemoryMiB }: Demand): GpuDevice[] {
  return gpus.filter((gpu) => gpu.memoryMiB >= gpuMemoryMiB).sort((a, b) => a.memoryMiB - b.memoryMiB)
}

export interface Hall {
  nodes: readonly Node[]
  /** All live runs, the queued ones in the order of their turns. */
  live: readonly (Demand & Pick<RunRow, "id" | "userName" | "state" | "nodeNames" | "gpuDevices">)[]
  /** Devices that something holds which is none of these runs. */
  takenDevices?: ReadonlySet<string>
  /** What groups may hold all together; those without a limit need not be told. */
  caps?: readonly Cap[]
}

/**
 * What each node has left: less than nothing when capacity shrank below what had been handed out.
 */
export function freeNodes({ nodes, live, takenDevices }: Omit<Hall, "caps">): Node[] {
  const free = nodes.map((node) => ({ ...node, gpus: node.gpus.filter(({ id }) => !takenDevices?.has(id)) }))
  for (const run of live) {
    if (run.state !== "queued") take(free, run, run)
  }
  return free
}

/**
 * Which of the queued runs can be started now, and where. They come in their order; what an earlier
 * one waits for is kept back from later ones on the node that could hold it, so that small runs
 * cannot starve a large one, yet may pass it where they do not stand in its way. A run that waits
 * for others of its group takes nothing from any node, and what it waits for is kept back from
 * later ones of the group.
 */
export function schedule(hall: Hall): Map<number, Placement> {
  const free = freeNodes(hall)
  const shares = new Shares(hall)
  const placements = new Map<number, Placement>()
  for (const run of hall.live) {
    if (run.state !== "queued" || !shares.take(run)) continue
    if (isExhausted(free)) break
    const node = best(free.filter((one) => couldHold(one, run) && hasLeft(one, run)))
    if (node) {
      const placement = { nodeNames: [node.name], gpuDevices: pick(node, run) }
      placements.set(run.id, placement)
      take(free, run, placement)
    } else keepBack(hall.nodes, free, run)
  }
  return placements
}

/**
 * Whether no node has anything left, not even for the smallest run: the rest of the queue need not
 * be looked at.
 */
function isExhausted(free: readonly Node[]): boolean {
  return free.every(({ cpus, memoryMiB }) => cpus < 1 || memoryMiB < 1)
}

/** Whether the run could start if nobody waited. */
export function fitsNow(demand: Demand & Pick<RunRow, "userName">, hall: Hall): boolean {
  return new Shares(hall).take(demand) && freeNodes(hall).some((node) => couldHold(node, demand) && hasLeft(node, demand))
}

function hasLeft(free: Node, demand: Demand): boolean {
  return demand.cpus <= free.cpus && demand.memoryMiB <= free.memoryMiB && fitting(free.gpus, demand).length >= demand.gpus
}

/**
 * Runs without GPUs stay off nodes that have them where they can; else the emptiest node is best.
 */
function best(nodes: Node[]): Node | undefined {
  return nodes.sort((a, b) => a.gpus.length - b.gpus.length || b.memoryMiB - a.memoryMiB)[0]
}

function pick(node: Node, demand: Demand): string[] {
  return fitting(node.gpus, demand)
    .slice(0, demand.gpus)
    .map(({ id }) => id)
}

function take(free: Node[], demand: Demand, { nodeNames, gpuDevices }: Placement): void {
  const node = free.find(({ name }) => name === nodeNames[0])
  if (!node) return
  node.cpus -= demand.cpus
  node.memoryMiB -= demand.memoryMiB
  node.gpus = node.gpus.filter(({ id }) => !gpuDevices.includes(id))
}

function keepBack(nodes: readonly Node[], free: Node[], demand: Demand): void {
  const able = new Set(nodes.filter((node) => couldHold(node, demand)).map(({ name }) => name))
  const node = best(free.filter(({ name }) => able.has(name)))
  if (node) take(free, demand, { nodeNames: [node.name], gpuDevices: pick(node, demand) })
}
