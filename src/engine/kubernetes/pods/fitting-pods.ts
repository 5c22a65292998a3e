import type { V1Pod } from "@kubernetes/client-node"
import { abortable } from "#kit"
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
  const used = await abortable(sharedAmounts(client, gpuResource), signal)
  if (!used) return Number.POSITIVE_INFINITY
  const counts = nodes.map((node) => fittingPods(node, used.get(node.name), wanted))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** The reason why the cluster would not have room for all pods of a run even if it were empty. */
export function neverRoomForAllError(
  spec: RunSpec,
  request: Omit<Amounts, "gpus">,
  nodes: readonly NodeCapacity[],
): EngineError | undefined {
  if (nodes.length === 0) return undefined
  const wanted = { ...request, gpus: gpuCountOf(spec) }
  const most = nodes.reduce((sum, node) => sum + fittingPods(node, undefined, wanted), 0)
  if (most >= spec.nodes) return undefined
  const code = wanted.gpus > 0 ? "insufficient_gpu" : "insufficient_cpu"
  return new EngineError(code, `All nodes for runs together have room for ${most} of the ${spec.nodes} that were asked for`)
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

type UsedAmounts = Map<string, Amounts> | undefined

/** Many starts may wait for room, each of which asks every few seconds. */
const sharedMs = 1_000
const pageSize = 500
const shared = new WeakMap<ClusterClient, { at: number; used: Promise<UsedAmounts> }>()

/** A cluster has thousands of pods, so starts that ask within a second share one answer. */
function sharedAmounts(client: ClusterClient, gpuResource: string): Promise<UsedAmounts> {
  const known = shared.get(client)
  const now = performance.now()
  if (known && now - known.at < sharedMs) return known.used
  const used = usedAmounts(client, gpuResource)
  shared.set(client, { at: now, used })
  used.catch(() => shared.delete(client))
  return used
}

/** The requests of all pods by their nodes; undefined without the right to see them. */
async function usedAmounts(client: ClusterClient, gpuResource: string): Promise<UsedAmounts> {
  const fieldSelector = "status.phase!=Succeeded,status.phase!=Failed"
  const used = new Map<string, Amounts>()
  let mark: string | undefined
  try {
    do {
      const page = { fieldSelector, limit: pageSize, ...(mark && { _continue: mark }) }
      const { items, metadata } = await client.core("list all pods", (core, settings) => core.listPodForAllNamespaces(page, settings))
      for (const pod of items) addPod(used, pod, gpuResource)
      mark = metadata?._continue
    } while (mark)
    return used
  } catch (error) {
    if (error instanceof EngineError && httpStatusOf(error.cause) === 403) return undefined
    throw error
  }
}

function addPod(used: Map<string, Amounts>, pod: V1Pod, gpuResource: string): void {
  const node = pod.spec?.nodeName
  if (node === undefined) return
  const sum = used.get(node) ?? { cpus: 0, memoryMiB: 0, gpus: 0 }
  add(sum, pod, gpuResource)
  used.set(node, sum)
}

function add(sum: Amounts, { spec }: V1Pod, gpuResource: string): void {
  for (const { resources } of spec?.containers ?? []) {
    const requests = resources?.requests ?? {}
    sum.cpus += parseQuantity(requests.cpu ?? "0")
    sum.memoryMiB += parseQuantity(requests.memory ?? "0") / 2 ** 20
    sum.gpus += parseQuantity(requests[gpuResource] ?? "0")
  }
}
