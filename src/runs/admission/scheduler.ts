import type { Reason, ReasonCode } from "#contract"
import type { GpuDevice, NodeCapacity } from "#engine"
import type { RunRow } from "#store"
import type { RunSettings } from "../settings.ts"
import { type GroupQuota, GroupUsage } from "./quotas.ts"
import type { ResourceRequest } from "./resource-request.ts"

export interface Placement {
  nodeNames: string[]
  gpuDevices: string[]
}

/**
 * A node for admission: `cpus` and `memoryMiB` after reserve and overcommit, `largest` the maximum
 * of a single run, `gpus` without the faulty ones.
 */
export interface Node {
  name: string
  cpus: number
  memoryMiB: number
  gpus: GpuDevice[]
  faultyGpus: number
  largest: { cpus: number; memoryMiB: number }
}

export type OvercommitSettings = Pick<RunSettings, "cpuOvercommit" | "memoryOvercommit" | "reserve">

export function allocatableNodes(
  capacity: readonly NodeCapacity[],
  { cpuOvercommit, memoryOvercommit, reserve }: OvercommitSettings,
): Node[] {
  return capacity.map((node) => {
    const cpus = Math.max(0, Math.floor((node.cpus - reserve.cpus) * cpuOvercommit))
    const memoryMiB = Math.max(0, Math.floor((node.memoryMiB - reserve.memoryMiB) * memoryOvercommit))
    const largest = { cpus: Math.min(cpus, node.cpus), memoryMiB: Math.min(memoryMiB, node.memoryMiB) }
    const gpus = node.gpus.filter(({ fault }) => fault === undefined)
    return { name: node.name, cpus, memoryMiB, gpus, faultyGpus: node.gpus.length - gpus.length, largest }
  })
}

/** The reason why not even an empty node could run it; undefined when one could. */
export function unschedulableReason(demand: ResourceRequest, nodes: readonly Node[]): Reason | undefined {
  if (nodes.some((node) => couldFit(node, demand))) return undefined
  const cpus = Math.max(0, ...nodes.map((node) => node.largest.cpus))
  if (demand.cpus > cpus) return insufficientReason("insufficient_cpu", `No node has ${demand.cpus} CPUs; the largest has ${cpus}`)
  const memory = Math.max(0, ...nodes.map((node) => node.largest.memoryMiB))
  if (demand.memoryMiB > memory) {
    return insufficientReason(
      "insufficient_memory",
      `No node has ${demand.memoryMiB} MiB of memory for runs; the largest has ${memory} MiB`,
    )
  }
  if (demand.gpus > Math.max(0, ...nodes.map((node) => fittingGpus(node.gpus, demand).length))) return gpuReason(demand, nodes)
  return insufficientReason(
    demand.gpus > 0 ? "insufficient_gpu" : "insufficient_memory",
    "No single node has all of what was asked for together",
  )
}

function gpuReason(demand: ResourceRequest, nodes: readonly Node[]): Reason {
  const faulty = nodes.reduce((sum, { faultyGpus }) => sum + faultyGpus, 0)
  const all = nodes.flatMap((node) => node.gpus)
  if (faulty === 0 && all.length === 0) {
    const hint = "Start it without GPUs, or ask an administrator for a machine that has some"
    return insufficientReason("insufficient_gpu", "No node has a GPU", hint)
  }
  const withMemory = demand.gpuMemoryMiB > 0 ? ` with ${demand.gpuMemoryMiB} MiB each` : ""
  const wanted = `${demand.gpus} ${demand.gpus === 1 ? "GPU" : "GPUs"}${withMemory}`
  const most = Math.max(0, ...nodes.map((node) => fittingGpus(node.gpus, demand).length))
  const largestGpu = Math.max(0, ...all.map(({ memoryMiB }) => memoryMiB))
  const details = withMemory === "" ? "" : ` of them; the largest GPU has ${largestGpu} MiB`
  const outOfOrder = faulty === 0 ? "" : `; out of order at the moment: ${faulty}`
  return insufficientReason("insufficient_gpu", `No node has ${wanted}; the largest has ${most}${details}${outOfOrder}`)
}

function insufficientReason(code: ReasonCode, msg: string, hint?: string): Reason {
  return hint === undefined ? { code, msg } : { code, msg, hint }
}

export function couldFit(node: Node, demand: ResourceRequest): boolean {
  const { largest, gpus } = node
  return demand.cpus <= largest.cpus && demand.memoryMiB <= largest.memoryMiB && fittingGpus(gpus, demand).length >= demand.gpus
}

/** Devices with enough memory, smallest first. */
export function fittingGpus(gpus: readonly GpuDevice[], { gpuMemoryMiB }: ResourceRequest): GpuDevice[] {
  return gpus.filter((gpu) => gpu.memoryMiB >= gpuMemoryMiB).sort((a, b) => a.memoryMiB - b.memoryMiB)
}

export interface ClusterState {
  nodes: readonly Node[]
  /** All live runs, the queued ones in fair order. */
  live: readonly (ResourceRequest & Pick<RunRow, "id" | "userName" | "state" | "nodeNames" | "gpuDevices">)[]
  /** Devices of containers, whatever their runs' rows say. */
  containerDevices?: ReadonlySet<string>
  /** Quotas of groups; groups without a limit may be missing. */
  quotas?: readonly GroupQuota[]
}

/** The free capacity of each node; negative when capacity shrank below what was allocated. */
export function availableNodes({ nodes, live, containerDevices }: Omit<ClusterState, "quotas">): Node[] {
  const free = nodes.map((node) => ({ ...node, gpus: node.gpus.filter(({ id }) => !containerDevices?.has(id)) }))
  for (const run of live) {
    if (run.state !== "queued") allocate(free, run, run)
  }
  return free
}

/**
 * The queued runs that can start now, and their nodes. They come in order. The needs of an
 * earlier run are reserved on the node that could run it, so small runs cannot starve a large one.
 * They may overtake it if they do not delay it. A run that waits for its group's quota reserves
 * nothing on nodes, but reserves the quota. A run that waits for its own person's runs reserves
 * nothing: a small run and a queued one as large as a node would keep everybody's capacity unused.
 */
export function schedule(cluster: ClusterState): Map<number, Placement> {
  const free = availableNodes(cluster)
  const usage = new GroupUsage(cluster)
  const ownRuns = new OwnRuns(cluster)
  const placements = new Map<number, Placement>()
  for (const run of cluster.live) {
    if (run.state !== "queued" || !usage.reserve(run)) continue
    if (isExhausted(free)) break
    const node = bestNode(free.filter((one) => couldFit(one, run) && hasFreeResources(one, run)))
    if (node) {
      const placement = { nodeNames: [node.name], gpuDevices: pickGpus(node, run) }
      placements.set(run.id, placement)
      allocate(free, run, placement)
    } else if (!ownRuns.prevent(run)) reserveFor(cluster.nodes, free, run)
  }
  return placements
}

/** The part of the nodes that each person's own runs leave to them. */
class OwnRuns {
  readonly #nodes: readonly Node[]
  readonly #holding: Map<string, ClusterState["live"][number][]>
  readonly #left = new Map<string, Node[]>()

  constructor({ nodes, live }: ClusterState) {
    this.#nodes = nodes
    this.#holding = Map.groupBy(
      live.filter(({ state }) => state !== "queued"),
      ({ userName }) => userName,
    )
  }

  /** Whether the run would have no room even if nobody else had any run. */
  prevent(run: ResourceRequest & Pick<RunRow, "userName">): boolean {
    const { userName } = run
    const left = this.#left.get(userName) ?? availableNodes({ nodes: this.#nodes, live: this.#holding.get(userName) ?? [] })
    this.#left.set(userName, left)
    return !left.some((node) => couldFit(node, run) && hasFreeResources(node, run))
  }
}

/** Whether no node has room even for the smallest run: the rest of the queue is skipped. */
function isExhausted(free: readonly Node[]): boolean {
  return free.every(({ cpus, memoryMiB }) => cpus < 1 || memoryMiB < 1)
}

/** Whether the run could start with an empty queue. */
export function fitsNow(demand: ResourceRequest & Pick<RunRow, "userName">, cluster: ClusterState): boolean {
  return (
    new GroupUsage(cluster).reserve(demand) &&
    availableNodes(cluster).some((node) => couldFit(node, demand) && hasFreeResources(node, demand))
  )
}

export function hasFreeResources(free: Node, demand: ResourceRequest): boolean {
  return demand.cpus <= free.cpus && demand.memoryMiB <= free.memoryMiB && fittingGpus(free.gpus, demand).length >= demand.gpus
}

/** Runs without GPUs avoid nodes with GPUs; otherwise the emptiest node is best. */
function bestNode(nodes: Node[]): Node | undefined {
  return nodes.sort((a, b) => a.gpus.length - b.gpus.length || b.memoryMiB - a.memoryMiB)[0]
}

function pickGpus(node: Node, demand: ResourceRequest): string[] {
  return fittingGpus(node.gpus, demand)
    .slice(0, demand.gpus)
    .map(({ id }) => id)
}

function allocate(free: Node[], demand: ResourceRequest, { nodeNames, gpuDevices }: Placement): void {
  const node = free.find(({ name }) => name === nodeNames[0])
  if (!node) return
  node.cpus -= demand.cpus
  node.memoryMiB -= demand.memoryMiB
  node.gpus = node.gpus.filter(({ id }) => !gpuDevices.includes(id))
}

function reserveFor(nodes: readonly Node[], free: Node[], demand: ResourceRequest): void {
  const suitable = new Set(nodes.filter((node) => couldFit(node, demand)).map(({ name }) => name))
  const node = bestNode(free.filter(({ name }) => suitable.has(name)))
  if (node) allocate(free, demand, { nodeNames: [node.name], gpuDevices: pickGpus(node, demand) })
}
