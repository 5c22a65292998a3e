import type { RunRow } from "#store"

/** People who are remembered at most; a forgotten one counts as never served. */
const maxPeople = 10_000

/** A queued run, as far as its turn depends on it. */
export type QueuedRun = Pick<RunRow, "id" | "userId" | "createdAt">

/** Remembers who was served when: whose run left the queue, or never had to wait. */
export class ServiceHistory {
  /**
   * Since when each person waits for their next turn; `Infinity` while nobody else was served after
   * them.
   */
  readonly #since = new Map<number, number>()
  #last = new Set<number>()
  #lastAt = Number.NEGATIVE_INFINITY

  /**
   * A run of the person left the queue at this time. The same news may come several times, and in
   * any order.
   */
  recordServed(userId: number, at: number): void {
    if (at > this.#lastAt) {
      for (const person of this.#last) this.#set(person, at)
      this.#last = new Set()
      this.#lastAt = at
    }
    if (at === this.#lastAt) this.#last.add(userId)
    this.#set(userId, this.#last.has(userId) ? Number.POSITIVE_INFINITY : Math.max(at, this.waitingSince(userId)))
  }

  waitingSince(userId: number): number {
    return this.#since.get(userId) ?? Number.NEGATIVE_INFINITY
  }

  #set(userId: number, since: number): void {
    // Renewed entries stand last, so the first one is the oldest.
    this.#since.delete(userId)
    this.#since.set(userId, since)
    if (this.#since.size > maxPeople) this.#since.delete(this.#since.keys().next().value ?? -1)
  }
}

interface PersonQueue<Run> {
  runs: Run[]
  /** Since when the person waits for this turn. */
  since: number
  first: number
}

/**
 * Queued runs in the order of their turns, from runs in the order of their age. In each round
 * everybody who waits has one turn, for their oldest run, in the order in which they began to wait
 * for it: when they asked, or when somebody was served after them. So everybody waits for at most
 * one run of each other person, however many of these are queued, and the order does not change
 * while capacity comes free.
 */
export function fairOrder<Run extends QueuedRun>(waiting: readonly Run[], turns: Pick<ServiceHistory, "waitingSince">): Run[] {
  const lines = queuesByPerson(waiting, turns)
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

function queuesByPerson<Run extends QueuedRun>(waiting: readonly Run[], turns: Pick<ServiceHistory, "waitingSince">): PersonQueue<Run>[] {
  const byPerson = new Map<number, PersonQueue<Run>>()
  for (const run of waiting) {
    const line = byPerson.get(run.userId)
    if (line) line.runs.push(run)
    else byPerson.set(run.userId, { runs: [run], since: Math.max(run.createdAt, turns.waitingSince(run.userId)), first: run.id })
  }
  // The difference of two infinities is not a number, so equal ones are compared first.
  return [...byPerson.values()].sort((a, b) => (a.since === b.since ? a.first - b.first : a.since - b.since))
}
