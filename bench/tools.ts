import { readFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { freePorts } from "../test/fixtures/free-ports.ts"

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/** Minimum, median and maximum, with one decimal. */
export function spread(values: readonly number[]): string {
  const round = (value: number) => value.toFixed(1)
  return `${round(median(values))} (${round(Math.min(...values))}–${round(Math.max(...values))})`
}

/** Median time of one call in microseconds, over 13 alternating slices of `calls` calls. */
export async function compare<Name extends string>(
  contenders: Record<Name, (i: number) => unknown>,
  calls: number,
): Promise<Record<Name, number>> {
  const entries = Object.entries(contenders) as [Name, (i: number) => unknown][]
  const times = new Map<Name, number[]>(entries.map(([name]) => [name, []]))
  for (let slice = 0; slice < 15; slice += 1) {
    for (const [name, call] of entries) {
      const started = performance.now()
      for (let i = 0; i < calls; i += 1) await call(slice * calls + i)
      if (slice > 1) times.get(name)?.push(((performance.now() - started) * 1000) / calls)
    }
  }
  return Object.fromEntries([...times].map(([name, all]) => [name, median(all)])) as Record<Name, number>
}

/** Prints each time and its ratio to the first. */
export function report(title: string, times: Record<string, number>): void {
  const [base] = Object.values(times)
  const cells = Object.entries(times).map(([name, time]) => `${name} ${time.toFixed(1)} (${((base ?? 0) / time).toFixed(2)})`)
  process.stdout.write(`${title.padEnd(44)} ${cells.join("   ")}\n`)
}

/** Environment of a measured Quayside, with its own ports and data directory. */
export async function ownSettings(dir: string, password: string): Promise<{ port: number; files: number; env: Record<string, string> }> {
  const [port = 0, apps, files = 0] = await freePorts(3)
  const env = {
    QUAYSIDE_ENGINE: "fake",
    QUAYSIDE_PORT: String(port),
    QUAYSIDE_APPS_PORT: String(apps),
    QUAYSIDE_FILES_PORT: String(files),
    QUAYSIDE_DATA_DIR: join(dir, "data"),
    QUAYSIDE_ADMIN_PASSWORD: password,
    QUAYSIDE_LOG_LEVEL: "warn",
  }
  return { port, files, env }
}

/** Resolves when the URL answers with the status. Retries every 2 ms. */
export async function answers(url: string, options: { status?: number; headers?: Readonly<Record<string, string>> } = {}): Promise<void> {
  const { status = 200, headers = {} } = options
  for (;;) {
    const response = await fetch(url, { headers }).catch(() => undefined)
    await response?.body?.cancel()
    if (response?.status === status) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** A process and its descendants. */
export async function family(pid: number): Promise<number[]> {
  const parents = new Map<number, number>()
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue
    try {
      parents.set(Number(name), parentOf(Number(name)))
    } catch {
      // The process has ended.
    }
  }
  const members = [pid]
  for (const member of members) for (const [child, parent] of parents) if (parent === member) members.push(child)
  return members
}

export function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
}

/**
 * Memory in MiB: `Rss` counts shared pages in full, `Pss` divides them among the processes that
 * share them. `Pss_Anon` and `Anonymous` are the parts of each that stand in no file.
 */
export function memoryOf(pid: number, kind: "Rss" | "Pss" | "Pss_Anon" | "Anonymous"): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")
  return Number(new RegExp(`^${kind}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1]) / 1024
}

/** The processor time of a process until now, in hundredths of a second. */
export function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
  return Number(fields[11]) + Number(fields[12])
}

/** Calls `work` for all, at most `width` at once. */
export async function forAll<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: width }, worker))
}
