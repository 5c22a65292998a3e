import { spawn } from "node:child_process"
import { stat } from "node:fs/promises"
import { bounds } from "#contract"
import { childEnvironment } from "../host/child-environment.ts"

export interface CountedDirectory {
  path: string
  /** The run's owner, whose programs may make counting slow. */
  owner: string
}

export interface CountOptions {
  /** For all directories together. Those that are not reached are absent from the result. */
  timeoutMs: number
  /** For those of one owner. */
  ownerTimeoutMs: number
  signal?: AbortSignal | undefined
  /** Default: `du`. */
  program?: string
}

/**
 * Bytes of the files below each directory, counted by `du`, which follows no links: programs may
 * swap what they can write at any moment. A missing directory is absent from the result, for
 * example if the daemon is on another machine. Those of an owner whose time is over are `Infinity`:
 * a program can make the kernel take a second for each name in its directory. Rejects with the
 * signal's reason only.
 */
export function directorySizes(directories: readonly CountedDirectory[], options: CountOptions): Promise<Map<string, number>> {
  return count(["--block-size=1"], directories, options)
}

/** The number of files and directories below each directory, as in `directorySizes`. */
export async function entryCounts(directories: readonly CountedDirectory[], options: CountOptions): Promise<Map<string, number>> {
  const counts = await count(["--inodes"], directories, options)
  // Each directory counts itself.
  return new Map([...counts].map(([path, entries]) => [path, entries - 1]))
}

async function count(what: readonly string[], directories: readonly CountedDirectory[], options: CountOptions) {
  const until = performance.now() + options.timeoutMs
  const totals = new Map<string, number>()
  let left = directories.toSorted((a, b) => Number(a.owner > b.owner) - Number(a.owner < b.owner))
  while (left.length > 0 && performance.now() < until) {
    // An image may declare tens of thousands of volumes, more than fit into one command line.
    const some = left.slice(0, maxAtOnce)
    const reached = await runDu(what, some, { ...options, timeoutMs: until - performance.now() }, totals)
    const late = reached < some.length && performance.now() < until ? await firstPresent(some.slice(reached)) : undefined
    const isLate = ({ path, owner }: CountedDirectory) => owner === late?.owner && !totals.has(path)
    for (const each of left) if (isLate(each)) totals.set(each.path, Number.POSITIVE_INFINITY)
    left = late === undefined ? left.slice(some.length) : left.slice(reached).filter(({ owner }) => owner !== late.owner)
  }
  return totals
}

const maxAtOnce = bounds.containers.volumes.value

/** `du` prints nothing for a missing one. Nobody but the daemon can change the paths. */
async function firstPresent(directories: readonly CountedDirectory[]): Promise<CountedDirectory | undefined> {
  for (const each of directories) if (await stat(each.path).catch(() => undefined)) return each
  return undefined
}

/**
 * Adds the totals of the directories, and returns how many of them are done: all, unless the time
 * of an owner or that of all is over.
 */
async function runDu(
  what: readonly string[],
  directories: readonly CountedDirectory[],
  { timeoutMs, ownerTimeoutMs, signal, program = "du" }: CountOptions,
  totals: Map<string, number>,
): Promise<number> {
  const words = ["--summarize", "--one-file-system", "--null", ...what, "--", ...directories.map(({ path }) => path)]
  const indexes = new Map(directories.map(({ path }, n) => [path, n]))
  // `du` fails if a file vanishes while it counts, and still prints the other totals.
  const du = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"], signal, env: childEnvironment })
  let [reached, isLate] = [0, false]
  const end = () => {
    isLate = true
    du.kill()
  }
  let ownerTimer = setTimeout(end, ownerTimeoutMs)
  const timer = setTimeout(end, timeoutMs)
  const done = (line: string) => {
    const at = line.indexOf("\t")
    const path = line.slice(at + 1)
    totals.set(path, Number(line.slice(0, at)))
    const owner = directories[reached]?.owner
    reached = (indexes.get(path) ?? reached) + 1
    if (directories[reached]?.owner === owner) return
    clearTimeout(ownerTimer)
    ownerTimer = setTimeout(end, ownerTimeoutMs)
  }
  let text = ""
  du.stdout.setEncoding("utf8").on("data", (part: string) => {
    const lines = (text + part).split("\0")
    text = lines.pop() ?? ""
    for (const line of lines) done(line)
  })
  await new Promise<void>((resolve) => du.on("error", () => resolve()).on("close", () => resolve()))
  clearTimeout(ownerTimer)
  clearTimeout(timer)
  signal?.throwIfAborted()
  return isLate ? reached : directories.length
}
