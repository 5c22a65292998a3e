import { execFile } from "node:child_process"
import { bounds } from "#contract"
import { childEnvironment } from "../host/child-environment.ts"

/**
 * Bytes that the files below each directory take, counted by `du`, which follows no link: programs
 * may swap what they can write at any moment. A directory that is not there, as where the daemon is
 * on another machine, is absent. Rejects with the signal's reason only.
 */
export async function directorySizes(
  directories: readonly string[],
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<Map<string, number>> {
  const until = performance.now() + timeoutMs
  const sizes = new Map<string, number>()
  // An image may declare tens of thousands: more than one program may be given.
  for (let at = 0; at < directories.length; at += maxAtOnce) {
    const timeout = Math.max(1, Math.ceil(until - performance.now()))
    for (const [path, bytes] of await ask(directories.slice(at, at + maxAtOnce), { timeout, signal })) sizes.set(path, bytes)
  }
  return sizes
}

const maxAtOnce = bounds.containers.volumes.value

async function ask(
  directories: readonly string[],
  { timeout, signal }: { timeout: number; signal: AbortSignal | undefined },
): Promise<[path: string, bytes: number][]> {
  const words = ["--summarize", "--one-file-system", "--block-size=1", "--null", "--", ...directories]
  const told = await new Promise<string>((resolve) => {
    // What vanishes while it is counted makes `du` fail, which tells the rest all the same.
    execFile("du", words, { timeout, signal, env: childEnvironment, maxBuffer: 2 ** 24 }, (_, stdout) => resolve(stdout))
  })
  signal?.throwIfAborted()
  const lines = told.split("\0").filter((line) => line !== "")
  return lines.map((line) => [line.slice(line.indexOf("\t") + 1), Number(line.slice(0, line.indexOf("\t")))])
}
