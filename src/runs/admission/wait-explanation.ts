import type { RunRow } from "#store"
import { exceedsQuota, type GroupQuota } from "./quotas.ts"
import type { ResourceRequest } from "./resource-request.ts"
import { availableNodes, couldFit, fittingGpus, hasFreeResources, type Node } from "./scheduler.ts"

/** A live run; `expiresAt` is when it is stopped at the latest, null: no such time. */
type LiveRun = ResourceRequest & Pick<RunRow, "id" | "userName" | "state" | "nodeNames" | "gpuDevices" | "expiresAt">
type HeldRun = LiveRun & { expiresAt: number }

/** The nodes and quotas by which the queue is served. */
export interface QueueConditions {
  nodes: readonly Node[]
  containerDevices: ReadonlySet<string>
  /** Groups without a limit may be missing. */
  quotas: readonly GroupQuota[]
}

/** Explains in one sentence each what queued runs wait for. */
export class WaitExplainer {
  readonly #conditions: QueueConditions
  readonly #holding: readonly LiveRun[]
  readonly #free: readonly Node[]

  constructor(conditions: QueueConditions, live: readonly LiveRun[]) {
    this.#conditions = conditions
    this.#holding = live.filter(({ state }) => state !== "queued")
    this.#free = availableNodes({ ...conditions, live })
  }

  /**
   * Names the group's quota, or the missing resources and when they are free at the latest, or the
   * earlier runs in the queue. `ahead` is their number.
   */
  explain(run: ResourceRequest & Pick<RunRow, "userName">, ahead: number): string {
    const { nodes, quotas } = this.#conditions
    const quota = quotas.find((each) => each.members.has(run.userName) && exceedsQuota(run, this.#holding, each))
    if (quota) return `waits until the members of ${quota.groupName} hold less: the limit of the whole group is reached`
    const suitable = new Set(nodes.filter((node) => couldFit(node, run)).map(({ name }) => name))
    if (suitable.size === 0) return `waits for a node with ${amountsOf(run)}; there is none at present`
    const free = this.#free.filter(({ name }) => suitable.has(name))
    if (free.some((node) => hasFreeResources(node, run))) {
      return ahead === 0 ? "waits to be started" : `waits for ${earlierRuns(ahead)}, which may take the free resources first`
    }
    const { node, at } = this.#earliestRoom(free, run)
    const behind = ahead === 0 ? "" : ` behind ${earlierRuns(ahead)}`
    const until = at === Number.POSITIVE_INFINITY ? "" : `; the next are free by ${timeText(at)} at the latest`
    return `waits for ${missingAmounts(node, run)}${behind}${until}`
  }

  /**
   * The node that has room first if each run ends as late as it may, as it is now, and that time.
   */
  #earliestRoom(free: readonly Node[], run: ResourceRequest): { node: Node; at: number } {
    const times = free.map((node) => {
      const devices = fittingGpus(this.#conditions.nodes.find(({ name }) => name === node.name)?.gpus ?? [], run)
      const held = this.#holding
        .filter((each): each is HeldRun => each.nodeNames[0] === node.name && each.expiresAt !== null)
        .sort((a, b) => a.expiresAt - b.expiresAt)
      return { node, at: roomAt(node, run, { held, devices: new Set(devices.map(({ id }) => id)) }) }
    })
    return times.reduce((best, each) => (each.at < best.at ? each : best))
  }
}

function earlierRuns(count: number): string {
  return count === 1 ? "an earlier run" : `${count} earlier runs`
}

/** `held` are the node's runs by their end, `devices` those that the run could use. */
function roomAt(node: Node, run: ResourceRequest, { held, devices }: { held: readonly HeldRun[]; devices: ReadonlySet<string> }): number {
  let { cpus, memoryMiB } = node
  let gpus = fittingGpus(node.gpus, run).length
  for (const each of held) {
    cpus += each.cpus
    memoryMiB += each.memoryMiB
    gpus += each.gpuDevices.filter((id) => devices.has(id)).length
    if (cpus >= run.cpus && memoryMiB >= run.memoryMiB && gpus >= run.gpus) return each.expiresAt
  }
  return Number.POSITIVE_INFINITY
}

function missingAmounts(free: Node, run: ResourceRequest): string {
  return amountsOf({
    nodes: run.nodes,
    cpus: run.cpus > free.cpus ? run.cpus : 0,
    memoryMiB: run.memoryMiB > free.memoryMiB ? run.memoryMiB : 0,
    gpus: run.gpus > fittingGpus(free.gpus, run).length ? run.gpus : 0,
    gpuMemoryMiB: run.gpuMemoryMiB,
  })
}

function amountsOf({ cpus, memoryMiB, gpus, gpuMemoryMiB }: ResourceRequest): string {
  const each = gpuMemoryMiB > 0 ? ` with ${gpuMemoryMiB} MiB each` : ""
  const parts = [
    cpus > 0 && `${cpus} ${cpus === 1 ? "CPU" : "CPUs"}`,
    memoryMiB > 0 && `${memoryMiB} MiB of memory`,
    gpus > 0 && `${gpus} ${gpus === 1 ? "GPU" : "GPUs"}${each}`,
  ]
  return new Intl.ListFormat("en").format(parts.filter((part) => part !== false))
}

/** Such as `2026-11-22 16:40 UTC`. */
function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`
}
