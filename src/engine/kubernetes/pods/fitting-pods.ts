import type { V1Pod } from "@kubernetes/client-node"
import { EngineError, type NodeCapacity, type RunSpec } from "../../engine.ts"
import type { ClusterClient } from "../client/cluster-client.ts"
import { httpStatusOf } from "../client/errors.ts"
import { parseQuantity } from "../observe/quantity.ts"
import { gpuCountOf } from "./pod-manifest.ts"

interface Amounts {
  cpus: number
  memoryMiB: number
  gpus: number
}

/**
 * How many pods of a run would find room now. The scheduler places pods one by one, so this is
 * asked before the first one is let go. Infinite if this process may not see all pods.
 */
export async function countFittingPods(
  client: ClusterClient,
  {
    spec,
    request,
    nodes,
    gpuResource,
  }: { spec: RunSpec; request: Omit<Amounts, "gpus">; nodes: readonly NodeCapacity[]; gpuResource: string },
  signal: AbortSignal,
): Promise<number> {
  const wanted = { ...request, gpus: gpuCountOf(spec) }
  const used = await usedAmounts(client, gpuResource, signal)
  if (!used) return Number.POSITIVE_INFINITY
  const counts = nodes.map((node) => fittingPods(node, used.get(node.name), wanted))
  return counts.reduce((sum, count) => sum + count, 0)
}

function fittingPods(node: NodeCapacity, used: Amounts | undefined, wanted: Amounts): number {
  const free = {
    cpus: node.cpus - (used?.cpus ?? 0),
    memoryMiB: node.memoryMiB - (used?.memoryMiB ?? 0),
    gpus: node.gpus.length - (used?.gpus ?? 0),
  }
  const fits = [free.cpus / wanted.cpus, free.memoryMiB / wanted.memoryMiB, ...(wanted.gpus > 0 ? [free.gpus / wanted.gpus] : [])]
  return Math.max(0, Math.floor(Math.min(...fits)))
}

/** The requests of all pods by their nodes; undefined without the right to see them. */
async function usedAmounts(client: ClusterClient, gpuResource: string, signal: AbortSignal): Promise<Map<string, Amounts> | undefined> {
  const fieldSelector = "status.phase!=Succeeded,status.phase!=Failed"
  const list = client.core("list all pods", (core, settings) => core.listPodForAllNamespaces({ fieldSelector }, settings), { signal })
  const pods = await list.catch((error: unknown) => {
    if (error instanceof EngineError && httpStatusOf(error.cause) === 403) return undefined
    throw error
  })
  if (!pods) return undefined
  const used = new Map<string, Amounts>()
  for (const pod of pods.items) {
    const node = pod.spec?.nodeName
    if (node === undefined) continue
    const sum = used.get(node) ?? { cpus: 0, memoryMiB: 0, gpus: 0 }
    add(sum, pod, gpuResource)
    used.set(node, sum)
  }
  return used
}

function add(sum: Amounts, { spec }: V1Pod, gpuResource: string): void {
  for (const { resources } of spec?.containers ?? []) {
    const requests = resources?.requests ?? {}
    sum.cpus += parseQuantity(requests.cpu ?? "0")
    sum.memoryMiB += parseQuantity(requests.memory ?? "0") / 2 ** 20
    sum.gpus += parseQuantity(requests[gpuResource] ?? "0")
  }
}
