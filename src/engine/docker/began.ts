import { readFile, readlink, stat } from "node:fs/promises"
import { join } from "node:path"
import { type Clock, systemClock } from "#kit"
import { EngineError } from "../engine.ts"
import type { PinnedMount } from "./pins.ts"

/** How long a program may take from its init's start to its own, before it is taken for started. */
const patienceMs = 1_000

/**
 * Waits until the init process has become, or has started, the program, and compares what the program sees at its mount targets with
 * what was pinned. The daemon itself tells neither: it reports a start as soon as its init runs, and it cannot know which directory was meant.
 *
 * Answers `ended` when the process is no longer there, and `unknown` where its process cannot be looked at (another PID namespace).
 */
export async function began(
  pid: number,
  pinned: readonly PinnedMount[],
  clock: Clock = systemClock,
): Promise<"running" | "ended" | "unknown"> {
  if (pid === 0) return "ended"
  const init = await link(`/proc/${pid}/exe`)
  if (init === undefined) return (await exists("/proc/1")) ? "ended" : "unknown"
  const differing = await firstDiffering(pid, pinned)
  if (differing && (await exists(`/proc/${pid}`))) {
    throw new EngineError("engine_error", `The container engine mounted something else at ${differing.target} than was meant`)
  }
  const until = clock.now() + patienceMs
  while (clock.now() < until) {
    const state = await programState(pid, init)
    if (state !== "init") return state
    await clock.sleep(5)
  }
  return "running"
}

async function programState(pid: number, init: string): Promise<"init" | "running" | "ended"> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => undefined)
  if (children === undefined) return (await exists(`/proc/${pid}`)) ? "running" : "ended"
  const child = children.trim().split(" ")[0]
  if (!child) return "init"
  const program = await link(`/proc/${child}/exe`)
  return program === undefined || program === init ? "init" : "running"
}

async function firstDiffering(pid: number, pinned: readonly PinnedMount[]): Promise<PinnedMount | undefined> {
  for (const mount of pinned) {
    if (!mount.identity) continue
    const { dev, ino } = await stat(join(`/proc/${pid}/root`, mount.target), { bigint: true }).catch(() => ({
      dev: undefined,
      ino: undefined,
    }))
    if (dev !== mount.identity.dev || ino !== mount.identity.ino) return mount
  }
  return undefined
}

function link(path: string): Promise<string | undefined> {
  return readlink(path).catch(() => undefined)
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** What the init prints when there is no such program in the image; it then ends with 127 (or 126 when it may not be run). */
export function isCommandMissing(exitCode: number, output: string): boolean {
  return (exitCode === 127 || exitCode === 126) && /\[FATAL\s+tini \(\d+\)\] exec .* failed/.test(output)
}
