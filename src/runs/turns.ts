import type { RunRow } from "#store"

/** A queued run, as far as its turn depends on it. */
export type Waiting = Pick<RunRow, "id" | "userId" | "createdAt">

/** What is known of the people who wait. */
export interface Turns {
  /** Whether the person has a run that left the queue and is not over. */
  holds(userId: number): boolean
  /** When a run of the person last left the queue; `-Infinity` where that is not known. */
  served(userId: number): number
}

interface Line<Run> {
  runs: Run[]
  /** Since when the person waits for this turn. */
  since: number
  isLater: boolean
}

/**
 * Queued runs in the order of their turns, from runs in the order of their age. In each round everybody who waits has one turn, for their oldest run. People
 * who hold nothing come before those who hold something, each in the order in which they began to wait for this turn. Somebody who was served
 * while a holder waited comes after that holder, so a stream of short runs starves nobody.
 */
export function inTurn<Run extends Waiting>(waiting: readonly Run[], turns: Turns): Run[] {
  const lines = linesOf(waiting, turns)
  const ordered: Run[] = []
  for (let round = 0; lines.length > 0; round += 1) {
    let left = 0
    for (const line of lines) {
      const run = line.runs[round]
      if (run === undefined) continue
      ordered.push(run)
      lines[left] = line
      left += 1
    }
    lines.length = left
  }
  return ordered
}

function linesOf<Run extends Waiting>(waiting: readonly Run[], { holds, served }: Turns): Line<Run>[] {
  const byPerson = new Map<number, Line<Run>>()
  for (const run of waiting) {
    const line = byPerson.get(run.userId)
    if (line) line.runs.push(run)
    else byPerson.set(run.userId, { runs: [run], since: Math.max(run.createdAt, served(run.userId)), isLater: holds(run.userId) })
  }
  const longest = Math.min(...[...byPerson.values()].filter(({ isLater }) => isLater).map(({ since }) => since))
  for (const [userId, line] of byPerson) line.isLater ||= served(userId) > longest
  return [...byPerson.values()].sort((a, b) => Number(a.isLater) - Number(b.isLater) || a.since - b.since || idOf(a) - idOf(b))
}

function idOf<Run extends Waiting>({ runs }: Line<Run>): number {
  return runs[0]?.id ?? 0
}
