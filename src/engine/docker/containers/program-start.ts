import { lstat, readFile, stat } from "node:fs/promises"
import { type Clock, systemClock } from "#kit"
import { EngineError } from "../../engine.ts"
import type { PinnedMount } from "../mounts/mount-pins.ts"

/** How long the init may take to execute the program before the program counts as started. */
const timeoutMs = 5_000

/**
 * Waits until the init process has executed the program, and checks that every pinned directory is
 * mounted for it. The daemon reports neither: it announces a start as soon as its init runs, and
 * cannot know which directory was meant.
 *
 * Resolves with `ended` if the process is not visible, because it ended or because the daemon lives
 * in another PID namespace.
 */
export async function waitForProgramStart(
  pid: number,
  pinned: readonly PinnedMount[],
  clock: Clock = systemClock,
): Promise<"running" | "ended"> {
  const missing = await findMissingMount(pid, pinned)
  if (missing && (await exists(`/proc/${pid}/root/`))) {
    throw new EngineError("engine_error", `The container engine mounted the wrong directory at ${missing.target}`)
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
 * The init forks, and its child becomes the program: until then both have the same name. The parent
 * is read last, since its own name changes only now.
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
 * Searches the process's own list of mounts: a target may lead through links of the image, but a
 * mount point does not, and nobody can move it away.
 */
async function findMissingMount(pid: number, pinned: readonly PinnedMount[]): Promise<PinnedMount | undefined> {
  if (pinned.length === 0) return undefined
  const mountInfo = await readFile(`/proc/${pid}/mountinfo`, "utf8").catch(() => "")
  const points = mountInfo.split("\n").map((line) => unescaped(line.split(" ")[4] ?? ""))
  const seen = new Set(await Promise.all(points.filter(isOrdinary).map((point) => identityAt(`/proc/${pid}/root${point}`))))
  return pinned.find(({ identity }) => identity !== undefined && !seen.has(`${identity.dev}:${identity.ino}`))
}

function isOrdinary(point: string): boolean {
  return point !== "" && point !== "/" && !/^\/(proc|sys|dev)(\/|$)/.test(point)
}

/** The kernel escapes space, tab, line feed and backslash as octal numbers. */
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
