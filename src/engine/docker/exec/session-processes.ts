import { readFileSync } from "node:fs"
import { HeavyWorkQueue, systemUserId } from "#kit"
import { Coalescer } from "../observe/coalescer.ts"
import { controlGroupsOf } from "../observe/container-stats.ts"

/** The processes of one program that was started by an exec, seen from the host. */
export interface ExecSession {
  /** The container's ID. */
  container: string
  /** The process ID of the container's init. */
  init: number
  /** The process ID of the program, which is also its session's ID. */
  leader: number
}

interface Process {
  pid: number
  group: number
  session: number
  /** The foreground process group of its terminal; -1 without a terminal. */
  foreground: number
}

/** Processes that are examined in one turn of the event loop: about a millisecond. */
const processesPerTurn = 32
/** A run may have thousands of processes, which would delay everybody's requests. */
const turns = new HeavyWorkQueue()
/** The containers whose processes are being listed; concurrent callers share a list. */
const lists = new Map<string, Coalescer<Process[] | undefined>>()

/**
 * Sends a signal to the processes of a session: to all, or to the group that Ctrl-C would reach.
 * Returns how many there are; undefined if the container's processes are not visible from here.
 */
export async function signalSession(
  session: ExecSession,
  signal: NodeJS.Signals | 0,
  to: "all" | "foreground" = "all",
): Promise<number | undefined> {
  const all = await listOf(session).run()
  const members = all?.filter((process) => process.session === session.leader)
  if (!members || signal === 0) return members?.length
  const group = members.find(({ foreground }) => foreground > 0)?.foreground ?? session.leader
  const chosen = to === "all" ? members : members.filter((process) => process.group === group)
  // The process ID may belong to another process by now.
  await inTurns(chosen, ({ pid }) => {
    if (readProcess(pid)?.session === session.leader) send(pid, signal)
  })
  return members.length
}

function listOf(session: ExecSession): Coalescer<Process[] | undefined> {
  const { container } = session
  const known = lists.get(container)
  if (known) return known
  const list = new Coalescer(() => readProcesses(session))
  lists.set(container, list)
  // The first run begins after this call.
  queueMicrotask(() => void list.whenIdle().then(() => lists.delete(container)))
  return list
}

/**
 * Only members of the container's control group count: a process ID alone may belong to anybody by
 * now.
 */
async function readProcesses({ container, init }: ExecSession): Promise<Process[] | undefined> {
  const groups = controlGroupsOf(`/proc/${init}`, container)
  if (!groups) return undefined
  try {
    const members = readFileSync(`${groups.memory}/cgroup.procs`, "latin1").split("\n")
    const processes: Process[] = []
    await inTurns(members, (line) => {
      const process = line === "" ? undefined : readProcess(Number(line))
      if (process) processes.push(process)
    })
    return processes
  } catch {
    return []
  }
}

async function inTurns<T>(all: readonly T[], work: (each: T) => void): Promise<void> {
  for (let at = 0; at < all.length; at += processesPerTurn) {
    await turns.run(systemUserId, () => {
      for (const each of all.slice(at, at + processesPerTurn)) work(each)
    })
  }
}

function readProcess(pid: number): Process | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1")
    // The name may contain spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const [state = "", , group, session, , foreground] = fields
    return state === "Z" ? undefined : { pid, group: Number(group), session: Number(session), foreground: Number(foreground) }
  } catch {
    return undefined
  }
}

function send(pid: number, signal: NodeJS.Signals | 0): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended.
  }
}
