import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { extname, join } from "node:path"
import { createInterface } from "node:readline"
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
/** A look takes at most this part of the time. */
const shareOfTime = 0.1
/** Time without an answer about the next run. */
const stalledMs = 10_000
/** Fewer sockets or locks cannot hold much. */
const fewSockets = 64
const fewLocks = 100_000

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
  /** Runs that the last look could not judge. */
  #unclear: ReadonlySet<string> = new Set()

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
    let [available, lookedAt, tookMs] = [0, Number.NEGATIVE_INFINITY, 0]
    while (!signal.aborted) {
      const now = availableMemory()
      const elapsed = this.#clock.monotonic() - lookedAt
      const isUrgent = now < available - suddenUse || this.#unclear.size > 0
      available = Math.max(available, now)
      if (elapsed >= kernelMemoryMs.value || (isUrgent && elapsed * shareOfTime >= tookMs)) {
        lookedAt = this.#clock.monotonic()
        await this.#look(signal).catch((err: unknown) => signal.aborted || this.#log.warn({ err }, "the kernel's memory was not looked at"))
        tookMs = this.#clock.monotonic() - lookedAt
        available = availableMemory()
      }
      await this.#clock.sleep(checkEveryMs, signal).catch(() => {})
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const countsLocks = lockCount() > fewLocks
    const suspects = this.#running().flatMap((container) => suspectOf(container, countsLocks) ?? [])
    const answers = suspects.length > 0 ? await ask(suspects, signal) : new Map<string, KernelMemoryAnswer>()
    const unclear = new Set<string>()
    for (const suspect of suspects) {
      const answer = answers.get(suspect.key)
      const bytes = answer?.bytes === null ? Number.POSITIVE_INFINITY : (answer?.bytes ?? 0)
      if (bytes > suspect.enough) this.#end(suspect, bytes)
      else if (answer?.hidesSockets) this.#judgeUnclear(suspect, unclear)
    }
    const stalled = suspects.find(({ key }) => !answers.has(key))
    if (stalled) this.#judgeUnclear(stalled, unclear)
    this.#unclear = unclear
  }

  /** Sockets may be on their way to another program once, but not each time. */
  #judgeUnclear(suspect: Suspect, unclear: Set<string>): void {
    if (this.#unclear.has(suspect.key)) this.#end(suspect, Number.POSITIVE_INFINITY)
    else unclear.add(suspect.key)
  }

  #end({ container: { key, id, pid }, limit }: Suspect, bytes: number): void {
    if (!controlGroupsOf(`/proc/${pid}`, id)) return
    const held = Number.isFinite(bytes) ? `at least ${Math.floor(bytes / mib)} MiB` : "more than can be counted"
    const msg = `The kernel held ${held} for the run's sockets and file locks, which count as its memory of ${Math.floor(limit / mib)} MiB`
    this.#log.warn({ key, bytes }, "ending a run for whose sockets and file locks the kernel holds too much memory")
    this.#causes.set(key, { code: "oom_killed", msg })
    // All processes of the container end with its init.
    process.kill(pid, "SIGKILL")
  }
}

function suspectOf(container: RunningContainer, countsLocks: boolean): Suspect | undefined {
  const { key, id, pid } = container
  const groups = controlGroupsOf(`/proc/${pid}`, id)
  const sockets = Number(/^sockets: used (\d+)/m.exec(textOf(`/proc/${pid}/net/sockstat`))?.[1] ?? 0)
  if (!groups || (sockets <= fewSockets && !countsLocks)) return undefined
  const limit = memoryLimitOf(groups)
  const processes = textOf(`${groups.memory}/cgroup.procs`).trim().split("\n").map(Number)
  const enough = Math.max((limit * kernelMemoryPercent.value) / 100, kernelMemoryBytes.value) + countedBytes(groups)
  return { key, container, limit, processes, sockets, countsLocks, enough }
}

function memoryLimitOf({ version, memory }: ControlGroups): number {
  return Number.parseInt(textOf(`${memory}/${version === 1 ? "memory.limit_in_bytes" : "memory.max"}`), 10) || 0
}

/** Bytes in sockets that the control group counts. Version 1 counts none. */
function countedBytes({ version, memory }: ControlGroups): number {
  return version === 1 ? 0 : Number(/^sock (\d+)/m.exec(textOf(`${memory}/memory.stat`))?.[1] ?? 0)
}

/** The locks on files of the whole machine, as far as the kernel tells. */
function lockCount(): number {
  return Number(/^file_?lock_cache\s+(\d+)/m.exec(textOf("/proc/slabinfo"))?.[1] ?? 0)
}

function availableMemory(): number {
  return Number(/^MemAvailable:\s+(\d+) kB/m.exec(textOf("/proc/meminfo"))?.[1] ?? 0) * 1024
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
async function ask(questions: readonly KernelMemoryQuestion[], signal: AbortSignal): Promise<Map<string, KernelMemoryAnswer>> {
  const answers = new Map<string, KernelMemoryAnswer>()
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
    child.stdin.end(JSON.stringify(questions))
    for await (const line of createInterface({ input: child.stdout })) {
      const answer = JSON.parse(line) as KernelMemoryAnswer
      answers.set(answer.key, answer)
      stalled.refresh()
    }
    await ended
    return answers
  } finally {
    clearTimeout(stalled)
  }
}
