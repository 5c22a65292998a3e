import { readFile } from "node:fs/promises"
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
  const stats = await Promise.all(containers.map((container) => statsOf(container, gpus, sources)))
  signal?.throwIfAborted()
  return stats
}

async function statsOf(
  { key, id, pid, gpuDevices }: RunningContainer,
  gpus: ReadonlyMap<string, GpuUsage>,
  { proc, cgroups }: StatsSources,
): Promise<ContainerStats> {
  const folders = await controlGroupsOf(`${proc}/${pid}`, id, cgroups)
  const [cpuSeconds, memory, network] = folders
    ? await Promise.all([cpuOf(folders), memoryOf(folders), trafficOf(`${proc}/${pid}`)])
    : [null, null, { networkIn: null, networkOut: null }]
  return { key, cpuSeconds, memory, ...gpuUse(gpuDevices, gpus), ...network }
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
export async function controlGroupsOf(
  process: string,
  id: string,
  cgroups: string = localSources.cgroups,
): Promise<ControlGroups | undefined> {
  const text = await textOf(`${process}/cgroup`)
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

async function cpuOf({ version, cpu }: ControlGroups): Promise<number | null> {
  if (version === 1) return scaleNumber(await textOf(`${cpu}/cpuacct.usage`), 1e-9)
  return scaleNumber(readFigure(await textOf(`${cpu}/cpu.stat`), "usage_usec"), 1e-6)
}

async function memoryOf({ version, memory }: ControlGroups): Promise<number | null> {
  const names =
    version === 1 ? { usage: "memory.usage_in_bytes", cached: "total_inactive_file" } : { usage: "memory.current", cached: "inactive_file" }
  const [usage, details] = await Promise.all([textOf(`${memory}/${names.usage}`), textOf(`${memory}/memory.stat`)])
  const all = scaleNumber(usage, 1)
  const cached = scaleNumber(readFigure(details, names.cached), 1)
  return all === null ? null : Math.max(0, all - (cached ?? 0))
}

/** Traffic of the container's own interfaces, without loopback. */
async function trafficOf(process: string): Promise<Pick<ContainerStats, "networkIn" | "networkOut">> {
  const text = await textOf(`${process}/net/dev`)
  if (text === undefined) return { networkIn: null, networkOut: null }
  let networkIn = 0
  let networkOut = 0
  for (const [, name, figures = ""] of text.matchAll(/^\s*([^\s:]+):(.*)$/gm)) {
    if (name === "lo") continue
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

/** Undefined if the file is missing, as when the program has just ended. */
function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined)
}
