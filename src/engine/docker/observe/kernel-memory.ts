import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { extname, join } from "node:path"
import { createInterface } from "node:readline"
import { setImmediate } from "node:timers/promises"
import { bounds } from "#contract"
import { type Clock, type Logger, systemClock } from "#kit"
import type { ObservedRun } from "../../engine.ts"
import { childEnvironment } from "../host/child-environment.ts"
import type { RunningContainer } from "./container-observer.ts"
import { type ControlGroups, controlGroupsOf } from "./container-stats.ts"
import type { KernelMemoryAnswer, KernelMemoryQuestion } from "./kernel-memory-process.ts"

const { kernelMemoryPercent, kernelMemoryBytes, kernelMemoryMs } = bounds.containers
const mib = 2 ** 20
const checkEveryMs = 1_000
/** A look comes at once if so much less memory is available than after the last one. */
const suddenUse = 256 * mib
/** Fewer sockets or locks cannot hold much. */
const fewSockets = 16
const fewLocks = 100_000
/** Sizes of the kernel's structures, rounded up. Source: `/proc/slabinfo` of Linux 6.18. */
const connectionBytes = { tracked: 320, waiting: 256 }
/** A connection's receive buffer grows to this size. Source: `net.ipv4.tcp_rmem`. */
const maxGrownBytes = 6 * mib
/** Hidden sockets that may hold this are too many, but never fewer nor more than these numbers. */
const hidden = { bytes: 512 * mib, least: 128, most: 512 }
/** So many looks in a row have to find too many. */
const maxUnclear = 3
/** Time without an answer about the next run. */
const stalledMs = 5_000
const maxStalls = 3
/** Containers whose figures are read in one turn of the event loop. */
const containersPerTurn = 16

interface Suspect extends KernelMemoryQuestion {
  container: RunningContainer
  limit: number
}

/**
 * Ends runs whose programs make the kernel hold much memory that no control group counts: messages
 * in sockets (of netlink, or on their way back as errors and timestamps), and locks on files. A
 * program can fill a gigabyte of it in a second, and the machine's memory would be gone without a
 * run having used its own.
 */
export class KernelMemoryGuard {
  readonly #running: () => readonly RunningContainer[]
  readonly #log: Logger
  readonly #clock: Clock
  /** By the run's key. */
  readonly #causes = new Map<string, ObservedRun["cause"]>()
  /** Runs that the last looks in a row could not judge, and how many. */
  #unclear: ReadonlyMap<string, number> = new Map()
  /** Processor time of the last look at each run. */
  #costs: ReadonlyMap<string, number> = new Map()

  constructor(running: () => readonly RunningContainer[], { logger, clock = systemClock }: { logger: Logger; clock?: Clock | undefined }) {
    this.#running = running
    this.#log = logger
    this.#clock = clock
  }

  /** The runs, with why this ended them; forgets all others. */
  explain(runs: readonly ObservedRun[]): ObservedRun[] {
    const keys = new Set(runs.map(({ key }) => key))
    for (const key of this.#causes.keys()) if (!keys.has(key)) this.#causes.delete(key)
    return runs.map((run) => {
      const cause = run.state === "exited" ? this.#causes.get(run.key) : undefined
      return cause ? { ...run, cause } : run
    })
  }

  /** Looks once a minute, and at once when memory is used up quickly. */
  async watch(signal: AbortSignal): Promise<void> {
    let [available, endedAt, tookMs] = [0, Number.NEGATIVE_INFINITY, 0]
    while (!signal.aborted) {
      const now = memoryFigure("MemAvailable")
      const begun = this.#clock.monotonic()
      const isSudden = now < available - suddenUse
      available = Math.max(available, now)
      const isUrgent = isSudden || this.#unclear.size > 0
      if (begun - endedAt >= (isUrgent ? 2 * tookMs : Math.max(kernelMemoryMs.value, 10 * tookMs))) {
        const isPressing = isUrgent || now < memoryFigure("MemTotal") / 2
        await this.#look(isPressing, signal).catch(
          (err: unknown) => signal.aborted || this.#log.warn({ err }, "the kernel's memory was not looked at"),
        )
        endedAt = this.#clock.monotonic()
        tookMs = endedAt - begun
        available = memoryFigure("MemAvailable")
      }
      await this.#clock.sleep(checkEveryMs, signal).catch(() => {})
    }
  }

  async #look(isPressing: boolean, signal: AbortSignal): Promise<void> {
    const suspects = await this.#suspects(isPressing)
    const answers = await this.#askAboutAll(suspects, signal)
    const maxHidden = await tooManyHidden()
    const unclear = new Map<string, number>()
    for (const suspect of suspects) {
      const answer = answers.get(suspect.key)
      if (!answer) continue
      const times = (this.#unclear.get(suspect.key) ?? 0) + 1
      if (answer.bytes > suspect.enough) this.#end(suspect, answer.bytes)
      else if (!isPressing || answer.hidden <= maxHidden) continue
      else if (times >= maxUnclear) this.#end(suspect, Number.POSITIVE_INFINITY)
      else unclear.set(suspect.key, times)
    }
    this.#unclear = unclear
    this.#costs = new Map([...answers].map(([key, { microseconds }]) => [key, microseconds]))
  }

  /** Those that take long come last: somebody's runs with very many descriptors delay no others. */
  async #suspects(isPressing: boolean): Promise<Suspect[]> {
    const countsLocks = (await lockCount()) > fewLocks
    const suspects: Suspect[] = []
    for (const [n, container] of this.#running().entries()) {
      if (n % containersPerTurn === containersPerTurn - 1) await setImmediate()
      const suspect = suspectOf(container, { countsLocks, countsConnections: isPressing })
      if (suspect) suspects.push(suspect)
    }
    const costOf = ({ key }: Suspect) => this.#costs.get(key) ?? 0
    return suspects.sort((a, b) => costOf(a) - costOf(b))
  }

  /** A program can make the asking process wait; then another one goes on with the next run. */
  async #askAboutAll(suspects: readonly Suspect[], signal: AbortSignal): Promise<Map<string, KernelMemoryAnswer>> {
    const answers = new Map<string, KernelMemoryAnswer>()
    let rest = suspects
    for (let stalls = 0; rest.length > 0 && stalls <= maxStalls; stalls += 1) {
      await ask(rest, answers, signal)
      const [stalled, ...others] = rest.filter(({ key }) => !answers.has(key))
      if (stalled) this.#log.warn({ key: stalled.key }, "the kernel's memory of a run was not looked at")
      rest = others
    }
    return answers
  }

  #end({ container: { key, id, pid }, limit }: Suspect, bytes: number): void {
    if (!controlGroupsOf(`/proc/${pid}`, id)) return
    const held = Number.isFinite(bytes) ? `at least ${Math.floor(bytes / mib)} MiB` : "more than can be counted"
    const msg = `The kernel held ${held} for the run's sockets, connections and file locks, which count as its memory of ${Math.floor(limit / mib)} MiB`
    this.#log.warn({ key, bytes }, "ending a run for whose sockets and file locks the kernel holds too much memory")
    this.#causes.set(key, { code: "oom_killed", msg })
    // All processes of the container end with its init.
    process.kill(pid, "SIGKILL")
  }
}

/** Connections count only sometimes: a load test leaves very many behind for two minutes. */
function suspectOf(
  container: RunningContainer,
  { countsLocks, countsConnections }: { countsLocks: boolean; countsConnections: boolean },
): Suspect | undefined {
  const { key, id, pid } = container
  const groups = controlGroupsOf(`/proc/${pid}`, id)
  const figures = textOf(`/proc/${pid}/net/sockstat`)
  const figure = (pattern: RegExp) => Number(pattern.exec(figures)?.[1] ?? 0)
  // The second line's first column, in hexadecimal digits.
  const tracked = Number.parseInt(textOf(`/proc/${pid}/net/stat/nf_conntrack`).split("\n")[1] ?? "", 16) || 0
  const connections = tracked * connectionBytes.tracked + figure(/^TCP: .* tw (\d+)/m) * connectionBytes.waiting
  const bytes = countsConnections ? connections : 0
  if (!groups || (figure(/^sockets: used (\d+)/m) <= fewSockets && !countsLocks && bytes < kernelMemoryBytes.value)) return undefined
  const limit = memoryLimitOf(groups)
  const enough = Math.max((limit * kernelMemoryPercent.value) / 100, kernelMemoryBytes.value) + countedBytes(groups)
  return { key, container, limit, pid, processes: `${groups.memory}/cgroup.procs`, countsLocks, bytes, enough }
}

/** Each may hold two receive buffers of the largest size. */
async function tooManyHidden(): Promise<number> {
  const largest = Number(await readFile("/proc/sys/net/core/rmem_max", "latin1").catch(() => "0"))
  return Math.min(Math.max(Math.floor(hidden.bytes / Math.max(2 * largest, maxGrownBytes)), hidden.least), hidden.most)
}

function memoryLimitOf({ version, memory }: ControlGroups): number {
  return Number.parseInt(textOf(`${memory}/${version === 1 ? "memory.limit_in_bytes" : "memory.max"}`), 10) || 0
}

/** Bytes in sockets that the control group counts. Version 1 counts none. */
function countedBytes({ version, memory }: ControlGroups): number {
  return version === 1 ? 0 : Number(/^sock (\d+)/m.exec(textOf(`${memory}/memory.stat`))?.[1] ?? 0)
}

/** The locks on files of the whole machine, as far as the kernel tells. */
async function lockCount(): Promise<number> {
  const text = await readFile("/proc/slabinfo", "latin1").catch(() => "")
  return Number(/^file_?lock_cache\s+(\d+)/m.exec(text)?.[1] ?? 0)
}

/** Bytes. */
function memoryFigure(name: "MemAvailable" | "MemTotal"): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(textOf("/proc/meminfo"))?.[1] ?? 0) * 1024
}

/** Empty if it cannot be read. The kernel answers from memory. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return ""
  }
}

/** Beside this file, with the same extension: `.ts` in a checkout, `.js` in a published package. */
const program = join(import.meta.dirname, `kernel-memory-process${extname(import.meta.filename)}`)

/**
 * Asks about each run in turn, in a process that is killed if it makes no progress. The last ones
 * then have no answer.
 */
async function ask(suspects: readonly Suspect[], answers: Map<string, KernelMemoryAnswer>, signal: AbortSignal): Promise<void> {
  // The warning would be about `node:ffi`.
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program], {
    stdio: ["pipe", "pipe", "ignore"],
    env: childEnvironment,
    signal,
    killSignal: "SIGKILL",
  })
  const ended = once(child, "close")
  const stalled = setTimeout(() => child.kill("SIGKILL"), stalledMs)
  try {
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(suspects.map(({ container: _, limit: __, ...question }) => question)))
    for await (const line of createInterface({ input: child.stdout })) {
      const answer = JSON.parse(line) as KernelMemoryAnswer
      answers.set(answer.key, answer)
      stalled.refresh()
    }
    await ended
  } finally {
    clearTimeout(stalled)
  }
}
