import { execFile } from "node:child_process"
import { bounds } from "#contract"
import { childEnvironment } from "../host/child-environment.ts"

/**
 * Bytes of the files below each directory, counted by `du`, which follows no links: programs may
 * swap what they can write at any moment. A missing directory is absent from the result, for
 * example if the daemon is on another machine. Rejects with the signal's reason only.
 */
export async function directorySizes(
  directories: readonly string[],
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<Map<string, number>> {
  const until = performance.now() + timeoutMs
  const sizes = new Map<string, number>()
  // An image may declare tens of thousands of volumes, more than fit into one command line.
  for (let at = 0; at < directories.length; at += maxAtOnce) {
    const remainingMs = Math.max(1, Math.ceil(until - performance.now()))
    for (const [path, bytes] of await runDu(directories.slice(at, at + maxAtOnce), { timeoutMs: remainingMs, signal }))
      sizes.set(path, bytes)
  }
  return sizes
}

const maxAtOnce = bounds.containers.volumes.value

async function runDu(
  directories: readonly string[],
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<[path: string, bytes: number][]> {
  const words = ["--summarize", "--one-file-system", "--block-size=1", "--null", "--", ...directories]
  const output = await new Promise<string>((resolve) => {
    // `du` fails if a file vanishes while it counts, and still prints the other totals.
    execFile("du", words, { timeout: timeoutMs, signal, env: childEnvironment, maxBuffer: 2 ** 24 }, (_, stdout) => resolve(stdout))
  })
  signal?.throwIfAborted()
  const lines = output.split("\0").filter((line) => line !== "")
  return lines.map((line) => [line.slice(line.indexOf("\t") + 1), Number(line.slice(0, line.indexOf("\t")))])
}
