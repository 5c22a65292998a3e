import { closeSync, openSync, readSync } from "node:fs"
import { setImmediate } from "node:timers/promises"
import type { ContainerStats } from "../../engine.ts"
import type { GpuProvider, GpuUsage } from "../../gpus/gpu-provider.ts"
import { isMockGpu } from "../../gpus/mock-gpus.ts"
import type { RunningContainer } from "./container-observer.ts"

/** The directories of the kernel's statistics. */
export interface StatsSources {
  proc: string
  cgroups: string
}

const localSources: StatsSources = { proc: "/proc", cgroups: "/sys/fs/cgroup" }
/** Containers read in one turn of the event loop, so that requests wait about a millisecond. */
const containersPerTurn = 16

/**
 * Reads the resource use of containers from the kernel. The daemon's own statistics take a second
 * and a call to the runtime for each container.
 *
 * Every figure is null if the daemon lives in another process namespace or on another machine.
 */
export async function readContainerStats(
  containers: readonly RunningContainer[],
  provider: Pick<GpuProvider, "usage">,
  signal?: AbortSignal,
  sources: StatsSources = localSources,
): Promise<ContainerStats[]> {
  const hasGpus = containers.some(({ gpuDevices }) => gpuDevices.some((id) => !isMockGpu(id)))
  const gpus = hasGpus ? await provider.usage() : new Map<string, GpuUsage>()
  signal?.throwIfAborted()
  const stats: ContainerStats[] = []
  for (const container of containers) {
    if (stats.length % containersPerTurn === containersPerTurn - 1) await setImmediate()
    stats.push(statsOf(container, gpus, sources))
  }
  signal?.throwIfAborted()
  return stats
}

function statsOf(
  { key, id, pid, gpuDevices }: RunningContainer,
  gpus: ReadonlyMap<string, GpuUsage>,
  { proc, cgroups }: StatsSources,
): ContainerStats {
  const folders = controlGroupsOf(`${proc}/${pid}`, id, cgroups)
  const network = folders ? trafficOf(`${proc}/${pid}`) : { networkIn: null, networkOut: null }
  return {
    key,
    cpuSeconds: folders ? cpuOf(folders) : null,
    memory: folders ? memoryOf(folders) : null,
    oomKills: folders ? oomKillsOf(folders) : null,
    ...gpuUse(gpuDevices, gpus),
    ...network,
  }
}

/** The control groups of a process: one folder in version 2, one per controller in version 1. */
export interface ControlGroups {
  version: 1 | 2
  cpu: string
  memory: string
}

/**
 * Undefined unless the process is the container's: process IDs are reused, and mean nothing in
 * another namespace.
 */
export function controlGroupsOf(process: string, id: string, cgroups: string = localSources.cgroups): ControlGroups | undefined {
  const text = textOf(`${process}/cgroup`)
  if (!text?.includes(id)) return undefined
  const paths = new Map<string, string>()
  for (const [, controllers = "", path = ""] of text.matchAll(/^\d+:([^:]*):(.*)$/gm)) {
    for (const controller of controllers.split(",")) paths.set(controller, path)
  }
  const [cpu, memory, whole] = [paths.get("cpuacct"), paths.get("memory"), paths.get("")]
  if (cpu !== undefined && memory !== undefined)
    return { version: 1, cpu: `${cgroups}/cpuacct${cpu}`, memory: `${cgroups}/memory${memory}` }
  return whole === undefined ? undefined : { version: 2, cpu: `${cgroups}${whole}`, memory: `${cgroups}${whole}` }
}

function cpuOf({ version, cpu }: ControlGroups): number | null {
  if (version === 1) return scaleNumber(textOf(`${cpu}/cpuacct.usage`), 1e-9)
  return scaleNumber(readFigure(textOf(`${cpu}/cpu.stat`), "usage_usec"), 1e-6)
}

function memoryOf({ version, memory }: ControlGroups): number | null {
  const names =
    version === 1 ? { usage: "memory.usage_in_bytes", cached: "total_inactive_file" } : { usage: "memory.current", cached: "inactive_file" }
  const all = scaleNumber(textOf(`${memory}/${names.usage}`), 1)
  const cached = scaleNumber(readFigure(textOf(`${memory}/memory.stat`), names.cached), 1)
  return all === null ? null : Math.max(0, all - (cached ?? 0))
}

function oomKillsOf({ version, memory }: ControlGroups): number | null {
  const name = version === 1 ? "memory.oom_control" : "memory.events"
  return scaleNumber(readFigure(textOf(`${memory}/${name}`), "oom_kill"), 1)
}

/**
 * Traffic of the container's own interfaces, without loopback. A container that ends has lost them.
 */
function trafficOf(process: string): Pick<ContainerStats, "networkIn" | "networkOut"> {
  const lines = [...(textOf(`${process}/net/dev`) ?? "").matchAll(/^\s*([^\s:]+):(.*)$/gm)].filter(([, name]) => name !== "lo")
  if (lines.length === 0) return { networkIn: null, networkOut: null }
  let networkIn = 0
  let networkOut = 0
  for (const [, , figures = ""] of lines) {
    const columns = figures.trim().split(/\s+/).map(Number)
    networkIn += columns[0] ?? 0
    networkOut += columns[8] ?? 0
  }
  return { networkIn, networkOut }
}

function gpuUse(devices: readonly string[], gpus: ReadonlyMap<string, GpuUsage>): Pick<ContainerStats, "gpuMemory" | "gpuBusy"> {
  const uses = devices.map((id) => gpus.get(id))
  const sum = (figures: (number | null | undefined)[]) =>
    figures.length === 0 ? null : figures.reduce<number | null>((total, each) => (total === null || each == null ? null : total + each), 0)
  const busy = sum(uses.map((use) => use?.busy))
  return { gpuMemory: sum(uses.map((use) => use?.memory)), gpuBusy: busy === null ? null : busy / uses.length }
}

/** The value of a name in a file of lines `name value`. */
function readFigure(text: string | undefined, name: string): string | undefined {
  return text
    ?.split("\n")
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1)
}

function scaleNumber(text: string | undefined, factor: number): number | null {
  return text !== undefined && /^\d+\s*$/.test(text) ? Number(text) * factor : null
}

const chunk = Buffer.alloc(64 * 1024)

/**
 * Undefined if the file is missing, as when the program has just ended. The kernel answers from
 * memory, for which a thread of the pool would cost many times as much.
 */
function textOf(path: string): string | undefined {
  try {
    const file = openSync(path, "r")
    try {
      let text = ""
      for (let length = -1; length !== 0; text += chunk.toString("latin1", 0, length)) length = readSync(file, chunk, 0, chunk.length, null)
      return text
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}
