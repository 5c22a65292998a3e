import { readFileSync } from "node:fs"
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

/**
 * Sends a signal to the processes of a session: to all, or to the group that Ctrl-C would reach.
 * Returns how many there are; undefined if the container's processes are not visible from here.
 */
export function signalSession(session: ExecSession, signal: NodeJS.Signals | 0, to: "all" | "foreground" = "all"): number | undefined {
  const processes = sessionProcesses(session)
  if (!processes) return undefined
  const group = processes.find(({ foreground }) => foreground > 0)?.foreground ?? session.leader
  const chosen = to === "all" ? processes : processes.filter((process) => process.group === group)
  for (const { pid } of chosen) send(pid, signal)
  return processes.length
}

/**
 * Only members of the container's control group count: a process ID alone may belong to anybody by
 * now.
 */
function sessionProcesses({ container, init, leader }: ExecSession): Process[] | undefined {
  const groups = controlGroupsOf(`/proc/${init}`, container)
  if (!groups) return undefined
  try {
    const members = readFileSync(`${groups.memory}/cgroup.procs`, "latin1")
    return members.split("\n").flatMap((line) => {
      const process = line === "" ? undefined : readProcess(Number(line))
      return process?.session === leader ? [process] : []
    })
  } catch {
    return []
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
