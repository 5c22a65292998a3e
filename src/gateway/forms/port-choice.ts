import type { LiveRun } from "../run-directory.ts"

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
  /** The project and the key of the run that had it last, or has it now. */
  projectId: number
  runKey: string
  /** Whether the run before that one was of another project, or there was none. */
  isHandedOver: boolean
}

/** Keeps which port belongs to whom, for ever. */
export interface PortAssignments {
  ofUser(userId: number, range: PortRange): Promise<PortAssignment[]>
  /** All ports of the range that belong to somebody. */
  assignedPorts(range: PortRange): Promise<number[]>
  /**
   * Records which run has the port from now on. False if the port belongs to somebody else or to
   * other authors.
   */
  assign(entry: PortAssignment): Promise<boolean>
}

export interface PortChoice {
  entry: PortAssignment
  /** Whether the ledger holds it so already. */
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
  /** At most so many ports belong to one person. */
  maxPerPerson: number
  /**
   * Whether the port cannot be had now: another live run has it, or something else listens there.
   */
  isBusy(port: number): boolean
  /** Whether a live run other than the one that asks has this key. */
  isLive(key: string): boolean
}

/** One person has at most half of the range, however small it is. */
export function maxPortsOf({ first, last }: PortRange, wanted: number): number {
  return Math.max(1, Math.min(wanted, Math.floor((last - first + 1) / 2)))
}

/**
 * The port for a run: the one that it had before, else one of the same person and the same authors,
 * first of the same project, else one that nobody ever had. A port of anybody else, or of other
 * authors, is never chosen.
 */
export async function choosePort(target: LiveRun, options: PortChoiceOptions): Promise<PortChoice | NoPortReason> {
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
  if (all.length >= maxPortsOf(range, options.maxPerPerson)) return "person"
  const taken = new Set(await ledger.assignedPorts(range))
  let isBlocked = false
  for (let port = range.first; port <= range.last; port += 1) {
    if (taken.has(port)) continue
    if (!isBusy(port)) return handOver({ port, userId, authors, projectId: 0, runKey: "", isHandedOver: true })
    isBlocked = true
  }
  return isBlocked ? "blocked" : "range"
}
