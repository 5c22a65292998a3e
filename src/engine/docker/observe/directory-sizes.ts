import { execFile } from "node:child_process"
import { bounds } from "#contract"
import { childEnvironment } from "../host/child-environment.ts"

export interface CountOptions {
  timeoutMs: number
  signal?: AbortSignal | undefined
}

/**
 * Bytes of the files below each directory, counted by `du`, which follows no links: programs may
 * swap what they can write at any moment. A missing directory is absent from the result, for
 * example if the daemon is on another machine. Rejects with the signal's reason only.
 */
export function directorySizes(directories: readonly string[], options: CountOptions): Promise<Map<string, number>> {
  return count(["--block-size=1"], directories, options)
}

/** The number of files and directories below each directory, as in `directorySizes`. */
export async function entryCounts(directories: readonly string[], options: CountOptions): Promise<Map<string, number>> {
  const counts = await count(["--inodes"], directories, options)
  // Each directory counts itself.
  return new Map([...counts].map(([path, entries]) => [path, entries - 1]))
}

async function count(what: readonly string[], directories: readonly string[], { timeoutMs, signal }: CountOptions) {
  const until = performance.now() + timeoutMs
  const totals = new Map<string, number>()
  // An image may declare tens of thousands of volumes, more than fit into one command line.
  for (let at = 0; at < directories.length; at += maxAtOnce) {
    const remainingMs = Math.max(1, Math.ceil(until - performance.now()))
    const some = directories.slice(at, at + maxAtOnce)
    for (const [path, total] of await runDu([...what, "--", ...some], { timeoutMs: remainingMs, signal })) totals.set(path, total)
  }
  return totals
}

const maxAtOnce = bounds.containers.volumes.value

async function runDu(what: readonly string[], { timeoutMs, signal }: CountOptions): Promise<[path: string, total: number][]> {
  const words = ["--summarize", "--one-file-system", "--null", ...what]
  const output = await new Promise<string>((resolve) => {
    // `du` fails if a file vanishes while it counts, and still prints the other totals.
    execFile("du", words, { timeout: timeoutMs, signal, env: childEnvironment, maxBuffer: 2 ** 24 }, (_, stdout) => resolve(stdout))
  })
  signal?.throwIfAborted()
  const lines = output.split("\0").filter((line) => line !== "")
  return lines.map((line) => [line.slice(line.indexOf("\t") + 1), Number(line.slice(0, line.indexOf("\t")))])
}
