import type { RunTarget } from "../run-directory.ts"

/** The ports for runs, both ends included. */
export interface PortRange {
  first: number
  last: number
}

/** A port that belongs to one person, and to one set of authors, for ever. */
export interface PortAssignment {
  port: number
  userId: number
  authors: string
  /** The project and the key of its present or last run. */
  projectId: number
  runKey: string
  /** Whether the port's previous run was of another project, or there was none. */
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
 * Why a run has no port: its person has the maximum, the range is used up, or no port could be
 * opened.
 */
export type NoPortReason = "person" | "range" | "blocked"

export interface PortChoiceOptions {
  ledger: PortAssignments
  range: PortRange
  /** The maximum of ports per person. */
  maxPerPerson: number
  /**
   * Whether the port is unavailable now: another live run has it, or another program listens there.
   */
  isBusy(port: number): boolean
  /** Whether another live run has this key. */
  isLive(key: string): boolean
}

/** A person has at most half of the range, but at least one port. */
function maxPortsPerPerson({ first, last }: PortRange, configured: number): number {
  return Math.max(1, Math.min(configured, Math.floor((last - first + 1) / 2)))
}

/**
 * Chooses the run's previous port, or else a port of the same person and authors (of the same
 * project first), or else an unassigned one. It never chooses a port of another person or of other
 * authors.
 */
export async function choosePort(target: RunTarget, options: PortChoiceOptions): Promise<PortChoice | NoPortReason> {
  const { ledger, range, isBusy, isLive } = options
  const { userId, projectId, authors, key } = target
  const owned = await ledger.ofUser(userId, range)
  const usable = owned.filter((entry) => entry.authors === authors && !isBusy(entry.port))
  const previous = usable.find((entry) => entry.runKey === key)
  if (previous) return { entry: previous, isRecorded: true }
  const free = usable.filter((entry) => !isLive(entry.runKey))
  const reused = free.find((entry) => entry.projectId === projectId) ?? free[0]
  const toChoice = (entry: PortAssignment): PortChoice => ({
    entry: { ...entry, projectId, runKey: key, isHandedOver: entry.projectId !== projectId },
    isRecorded: false,
  })
  if (reused) return toChoice(reused)
  if (owned.length >= maxPortsPerPerson(range, options.maxPerPerson)) return "person"
  const assigned = new Set(await ledger.assignedPorts(range))
  let isBlocked = false
  for (let port = range.first; port <= range.last; port += 1) {
    if (assigned.has(port)) continue
    if (!isBusy(port)) return toChoice({ port, userId, authors, projectId: 0, runKey: "", isHandedOver: true })
    isBlocked = true
  }
  return isBlocked ? "blocked" : "range"
}
