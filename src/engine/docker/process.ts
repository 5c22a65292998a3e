import { readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { type Clock, systemClock } from "#kit"
import { EngineError } from "../engine.ts"
import type { PinnedMount } from "./pins.ts"

/** How long a program may take from its init's start to its own, before it is taken for started. */
const patienceMs = 1_000

/**
 * Waits until the init process has started the program, and compares what the program sees at its mount targets with
 * what was pinned. The daemon itself tells neither: it reports a start as soon as its init runs, and it cannot know which directory was meant.
 *
 * Answers `ended` when the process is not to be seen, be it that it ended or that the daemon lives in another PID namespace.
 */
export async function began(pid: number, pinned: readonly PinnedMount[], clock: Clock = systemClock): Promise<"running" | "ended"> {
  const differing = await firstDiffering(pid, pinned)
  if (differing && (await exists(`/proc/${pid}`))) {
    throw new EngineError("engine_error", `The container engine mounted something else at ${differing.target} than was meant`)
  }
  const until = clock.now() + patienceMs
  while (clock.now() < until) {
    const state = await programState(pid)
    if (state !== "init") return state
    await clock.sleep(2)
  }
  return "running"
}

/** The init forks and its child becomes the program: until then both have the same name. The parent is read last, since it becomes the init itself only now. */
async function programState(pid: number): Promise<"init" | "running" | "ended"> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => undefined)
  if (children === undefined) return (await exists(`/proc/${pid}`)) ? "running" : "ended"
  const child = Number(children.trim().split(" ")[0])
  if (!child) return "init"
  const program = await nameOf(child)
  const init = await nameOf(pid)
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

function nameOf(pid: number): Promise<string | undefined> {
  return readFile(`/proc/${pid}/comm`, "utf8").catch(() => undefined)
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
