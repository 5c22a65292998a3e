import type { RunTarget } from "../run-directory.ts"

/** Ports that runs have of their own, both ends included. */
export interface PortRange {
  first: number
  last: number
}

/** A port that belongs to one person, and to one set of authors, for ever. */
export interface PortAssignment {
  port: number
  userId: number
  authors: string
  /** The project and the key of the run that last had it, or has it now. */
  projectId: number
  runKey: string
  /** Whether the run before that one was of another project, or there was none. */
  isHandedOver: boolean
}

/** Stores the owner of each port, for ever. */
export interface PortAssignments {
  ofUser(userId: number, range: PortRange): Promise<PortAssignment[]>
  /** All assigned ports of the range. */
  assignedPorts(range: PortRange): Promise<number[]>
  /**
   * Records that the run has the port from now on. False if the port belongs to another person or
   * to other authors.
   */
  assign(entry: PortAssignment): Promise<boolean>
}

export interface PortChoice {
  entry: PortAssignment
  /** Whether the ledger already contains this assignment. */
  isRecorded: boolean
}

/**
 * Why a run has no port: its person has as many as one may have, the range is used up, or no port
 * could be opened.
 */
export type NoPortReason = "person" | "range" | "blocked"

export interface PortChoiceOptions {
  ledger: PortAssignments
  range: PortRange
  /** The most ports that one person can have. */
  maxPerPerson: number
  /**
   * Whether the port is unavailable now: another live run has it, or another program listens there.
   */
  isBusy(port: number): boolean
  /** Whether another live run has this key. */
  isLive(key: string): boolean
}

/** One person has at most half of the range, however small it is. */
export function maxPortsPerPerson({ first, last }: PortRange, wanted: number): number {
  return Math.max(1, Math.min(wanted, Math.floor((last - first + 1) / 2)))
}

/**
 * Chooses the run's previous port, or else a port of the same person and authors (of the same
 * project first), or else an unassigned one. It never chooses a port of another person or of other
 * authors.
 */
export async function choosePort(target: RunTarget, options: PortChoiceOptions): Promise<PortChoice | NoPortReason> {
  const { ledger, range, isBusy, isLive } = options
  const { userId, projectId, authors, key } = target
  const all = await ledger.ofUser(userId, range)
  const known = all.filter((entry) => entry.authors === authors && !isBusy(entry.port))
  const had = known.find((entry) => entry.runKey === key)
  if (had) return { entry: had, isRecorded: true }
  const free = known.filter((entry) => !isLive(entry.runKey))
  const again = free.find((entry) => entry.projectId === projectId) ?? free[0]
  const handOver = (entry: PortAssignment): PortChoice => ({
    entry: { ...entry, projectId, runKey: key, isHandedOver: entry.projectId !== projectId },
    isRecorded: false,
  })
  if (again) return handOver(again)
  if (all.length >= maxPortsPerPerson(range, options.maxPerPerson)) return "person"
  const taken = new Set(await ledger.assignedPorts(range))
  let isBlocked = false
  for (let port = range.first; port <= range.last; port += 1) {
    if (taken.has(port)) continue
    if (!isBusy(port)) return handOver({ port, userId, authors, projectId: 0, runKey: "", isHandedOver: true })
    isBlocked = true
  }
  return isBlocked ? "blocked" : "range"
}
