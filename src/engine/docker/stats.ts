import { readFile } from "node:fs/promises"
import type { RunStats } from "../engine.ts"
import { isMockGpu } from "../gpus.ts"
import { type GpuUse, nvidiaUse } from "./gpus.ts"
import type { RunningContainer } from "./observe.ts"

const groups = "/sys/fs/cgroup"

/**
 * What containers use, read from the kernel's own accounts and not from the daemon, whose statistics take a second and a conversation with the runtime each.
 *
 * All is null where the daemon lives in another process namespace or on another machine.
 */
export async function containerStats(containers: readonly RunningContainer[], signal?: AbortSignal): Promise<RunStats[]> {
  const hasGpus = containers.some(({ gpuDevices }) => gpuDevices.some((id) => !isMockGpu(id)))
  const gpus = hasGpus ? await nvidiaUse(signal).catch(() => new Map<string, GpuUse>()) : new Map<string, GpuUse>()
  signal?.throwIfAborted()
  const stats = await Promise.all(containers.map((container) => statsOf(container, gpus)))
  signal?.throwIfAborted()
  return stats
}

async function statsOf({ key, id, pid, gpuDevices }: RunningContainer, gpus: ReadonlyMap<string, GpuUse>): Promise<RunStats> {
  const paths = await groupsOf(pid, id)
  const [cpu, memory, network] = paths
    ? await Promise.all([cpuSeconds(paths), memoryOf(paths), traffic(pid)])
    : [null, null, { networkIn: null, networkOut: null }]
  return { key, cpuSeconds: cpu, memory, ...gpuUse(gpuDevices, gpus), ...network }
}

/** Where each controller accounts for a process, the unified hierarchy under the empty name. */
type Groups = ReadonlyMap<string, string>

/** Undefined unless the process is the container's: process IDs come again, and mean nothing in another namespace. */
async function groupsOf(pid: number, id: string): Promise<Groups | undefined> {
  const text = pid > 0 ? await textOf(`/proc/${pid}/cgroup`) : undefined
  if (!text?.includes(id)) return undefined
  const rows = text.split("\n").flatMap((line) => {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    return controllers.split(",").map((controller) => [controller, path] as const)
  })
  return new Map(rows)
}

async function cpuSeconds(paths: Groups): Promise<number | null> {
  const old = paths.get("cpuacct")
  if (old !== undefined) return scaled(await textOf(`${groups}/cpuacct${old}/cpuacct.usage`), 1e-9)
  return scaled(figureIn(await textOf(`${groups}${paths.get("")}/cpu.stat`), "usage_usec"), 1e-6)
}

async function memoryOf(paths: Groups): Promise<number | null> {
  const old = paths.get("memory")
  const folder = old === undefined ? `${groups}${paths.get("")}` : `${groups}/memory${old}`
  const [usage, details] = await Promise.all([
    textOf(`${folder}/${old === undefined ? "memory.current" : "memory.usage_in_bytes"}`),
    textOf(`${folder}/memory.stat`),
  ])
  const all = scaled(usage, 1)
  const cached = scaled(figureIn(details, old === undefined ? "inactive_file" : "total_inactive_file"), 1)
  return all === null ? null : Math.max(0, all - (cached ?? 0))
}

/** Of the container's own interfaces, the loopback excepted. */
async function traffic(pid: number): Promise<Pick<RunStats, "networkIn" | "networkOut">> {
  const text = await textOf(`/proc/${pid}/net/dev`)
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

function gpuUse(devices: readonly string[], gpus: ReadonlyMap<string, GpuUse>): Pick<RunStats, "gpuMemory" | "gpuBusy"> {
  const uses = devices.map((id) => gpus.get(id))
  const sum = (figures: (number | null | undefined)[]) =>
    figures.length === 0 ? null : figures.reduce<number | null>((total, each) => (total === null || each == null ? null : total + each), 0)
  const busy = sum(uses.map((use) => use?.busy))
  return { gpuMemory: sum(uses.map((use) => use?.memory)), gpuBusy: busy === null ? null : busy / uses.length }
}

/** The figure behind a name in a file of lines `name figure`. */
function figureIn(text: string | undefined, name: string): string | undefined {
  return text
    ?.split("\n")
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1)
}

function scaled(text: string | undefined, factor: number): number | null {
  return text !== undefined && /^\d+\s*$/.test(text) ? Number(text) * factor : null
}

/** Undefined when it is not there, as when the program has just ended. */
function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined)
}
