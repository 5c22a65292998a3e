import { lstat, readFile, stat } from "node:fs/promises"
import { type Clock, systemClock } from "#kit"
import { EngineError } from "../../engine.ts"
import type { PinnedMount } from "../mounts/mount-pins.ts"

/** How long a program may take from its init's start to its own, before it is taken for started. */
const timeoutMs = 1_000

/**
 * Waits until the init process has started the program, and looks whether every pinned directory is
 * mounted for it. The daemon itself tells neither: it reports a start as soon as its init runs, and
 * it cannot know which directory was meant.
 *
 * Answers `ended` when the process is not to be seen, be it that it ended or that the daemon lives
 * in another PID namespace.
 */
export async function waitForProgram(
  pid: number,
  pinned: readonly PinnedMount[],
  clock: Clock = systemClock,
): Promise<"running" | "ended"> {
  const missing = await firstMissing(pid, pinned)
  if (missing && (await exists(`/proc/${pid}/root/`))) {
    throw new EngineError("engine_error", `The container engine mounted something else at ${missing.target} than was meant`)
  }
  const until = clock.now() + timeoutMs
  while (clock.now() < until) {
    const state = await programState(pid)
    if (state !== "init") return state
    await clock.sleep(2)
  }
  return "running"
}

/**
 * The init forks and its child becomes the program: until then both have the same name. The parent
 * is read last, since it becomes the init itself only now.
 */
async function programState(pid: number): Promise<"init" | "running" | "ended"> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => undefined)
  if (children === undefined) return (await exists(`/proc/${pid}`)) ? "running" : "ended"
  const child = Number(children.trim().split(" ")[0])
  if (!child) return "init"
  const program = await nameOf(child)
  const init = await nameOf(pid)
  return program === undefined || program === init ? "init" : "running"
}

/**
 * The process's own list of mounts is what is looked through: a target may lead through links of
 * the image, a mount point does not, and nobody can move one away.
 */
async function firstMissing(pid: number, pinned: readonly PinnedMount[]): Promise<PinnedMount | undefined> {
  if (pinned.length === 0) return undefined
  const mountInfo = await readFile(`/proc/${pid}/mountinfo`, "utf8").catch(() => "")
  const points = mountInfo.split("\n").map((line) => unescaped(line.split(" ")[4] ?? ""))
  const seen = new Set(await Promise.all(points.filter(isOrdinary).map((point) => identityAt(`/proc/${pid}/root${point}`))))
  return pinned.find(({ identity }) => identity !== undefined && !seen.has(`${identity.dev}:${identity.ino}`))
}

function isOrdinary(point: string): boolean {
  return point !== "" && point !== "/" && !/^\/(proc|sys|dev)(\/|$)/.test(point)
}

/** The kernel writes space, tab, line feed and backslash as octal numbers. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}

async function identityAt(path: string): Promise<string | undefined> {
  const found = await lstat(path, { bigint: true }).catch(() => undefined)
  return found && `${found.dev}:${found.ino}`
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
