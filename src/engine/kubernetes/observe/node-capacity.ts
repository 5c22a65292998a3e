import type { V1Node } from "@kubernetes/client-node"
import type { NodeCapacity } from "../../engine.ts"
import type { KubernetesOptions } from "../kubernetes-options.ts"
import { parseQuantity } from "./quantity.ts"

/** The resources that a node gives to pods; none if it takes no pods now. */
export function nodeCapacity(node: V1Node, options: KubernetesOptions): NodeCapacity[] {
  const { gpuResource = "nvidia.com/gpu", gpuMemoryLabel = "nvidia.com/gpu.memory" } = options
  const { metadata, spec, status } = node
  const isReady = status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false
  const isSelected = Object.entries(options.pods?.nodeSelector ?? {}).every(([name, value]) => metadata?.labels?.[name] === value)
  if (!isReady || spec?.unschedulable || !isSelected) return []
  const name = metadata?.name ?? ""
  const allocatable = status?.allocatable ?? {}
  const gpus = Math.floor(parseQuantity(allocatable[gpuResource] ?? "0"))
  const memoryMiB = Number(metadata?.labels?.[gpuMemoryLabel] ?? 0) || 0
  const model = metadata?.labels?.["nvidia.com/gpu.product"] ?? gpuResource
  return [
    {
      name,
      cpus: Math.floor(parseQuantity(allocatable.cpu ?? "0")),
      memoryMiB: Math.floor(parseQuantity(allocatable.memory ?? "0") / 2 ** 20),
      gpus: Array.from({ length: gpus }, (_, n) => ({ id: `${name}/${n}`, model, memoryMiB })),
    },
  ]
}
