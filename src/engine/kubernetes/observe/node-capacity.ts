import type { V1Node } from "@kubernetes/client-node"
import type { NodeCapacity } from "../../engine.ts"
import type { KubernetesOptions } from "../kubernetes-options.ts"

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

const units: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** A quantity such as `1500m` or `16Gi`; 0 for anything else. */
function parseQuantity(text: string): number {
  const [, amount = "", unit = ""] = /^([0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)$/.exec(text) ?? []
  return Number(amount) * (units[unit] ?? 0)
}
