import type { NodeCapacity } from "#engine"
import { deadline } from "#kit"
import type { RunsContext } from "../context.ts"
import { allocatableNodes, availableNodes, type Node } from "./scheduler.ts"

/** A device with a fault may be handed out for so long; its start then fails. */
const maxAgeMs = 10_000
const timeoutMs = 5_000

/** The capacity of the engine's nodes, cached. */
export class CapacityCache {
  readonly #ctx: RunsContext
  #cached: { nodes: NodeCapacity[]; at: number } | undefined

  constructor(ctx: RunsContext) {
    this.#ctx = ctx
  }

  /**
   * The nodes for admission, from the cache even if old. Rejects as `Engine.capacity` does when
   * nothing is cached.
   */
  async nodes(): Promise<Node[]> {
    if (!this.#cached) await this.refresh()
    return allocatableNodes(this.#cached?.nodes ?? [], this.#ctx.settings)
  }

  /** The engine's last report. */
  get latest(): readonly NodeCapacity[] {
    return this.#cached?.nodes ?? []
  }

  /** Refreshes the cache when it is older than 10 s. */
  async refreshIfStale(): Promise<void> {
    if (!this.#cached || this.#ctx.clock.now() - this.#cached.at >= maxAgeMs) await this.refresh()
  }

  async refresh(): Promise<void> {
    const { clock, closed, engine, runCache, settings } = this.#ctx
    using limit = deadline(timeoutMs, "Asking the engine for its capacity", closed, clock)
    const nodes = await engine.capacity(limit)
    this.#cached = { nodes, at: clock.now() }
    runCache.fairnessFacts.setCapacity(allocatableNodes(nodes, settings))
  }
}

/** A node's total and free resources, after reserve and overcommit. */
export interface NodeUsage {
  name: string
  cpus: { total: number; free: number }
  memoryMiB: { total: number; free: number }
  gpus: { total: number; free: number }
  devices: { id: string; model: string; memoryMiB: number; runId: number | null }[]
}

export async function nodeUsage(ctx: RunsContext, capacity: CapacityCache, containerDevices: ReadonlySet<string>): Promise<NodeUsage[]> {
  const nodes = await capacity.nodes()
  const live = ctx.runCache.rows()
  const free = new Map(availableNodes({ nodes, live, containerDevices }).map((node) => [node.name, node]))
  const runIdByDevice = new Map(live.flatMap((run) => (run.state === "queued" ? [] : run.gpuDevices.map((device) => [device, run.id]))))
  return nodes.map((node) => {
    const available = free.get(node.name)
    const amount = (total: number, rest = 0) => ({ total, free: Math.max(0, rest) })
    return {
      name: node.name,
      cpus: amount(node.cpus, available?.cpus),
      memoryMiB: amount(node.memoryMiB, available?.memoryMiB),
      gpus: amount(node.gpus.length, available?.gpus.length),
      devices: node.gpus.map((gpu) => ({ ...gpu, runId: runIdByDevice.get(gpu.id) ?? null })),
    }
  })
}
