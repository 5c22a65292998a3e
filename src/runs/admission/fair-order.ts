import type { RunRow } from "#store"

/** Maximum number of people in the history. A person without an entry counts as never served. */
const maxPeople = 10_000

/** The fields of a queued run that decide its position. */
export type QueuedRun = Pick<RunRow, "id" | "userId" | "createdAt">

/** When each person was last served: one of their runs left the queue, or started at once. */
export class ServiceHistory {
  /**
   * The time from which each person waits for their next turn; `Infinity` while nobody else was
   * served after them.
   */
  readonly #since = new Map<number, number>()
  #last = new Set<number>()
  #lastAt = Number.NEGATIVE_INFINITY

  /**
   * Records that a run of the person left the queue at this time. Calls may repeat, and may come in
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
    // A renewed entry moves to the end, so the first one is the oldest.
    this.#since.delete(userId)
    this.#since.set(userId, since)
    if (this.#since.size > maxPeople) this.#since.delete(this.#since.keys().next().value ?? -1)
  }
}

interface PersonQueue<Run> {
  runs: Run[]
  /** The time from which the person waits for this turn. */
  since: number
  first: number
}

/**
 * Sorts queued runs, given oldest first, into fair order. In each round every waiting person has
 * one turn, for their oldest run. Turns follow the time from which people wait: their request, or
 * the moment when somebody was served after them. A person therefore waits for at most one run of
 * each other person, and the order does not change when capacity becomes free.
 */
export function fairOrder<Run extends QueuedRun>(queued: readonly Run[], history: Pick<ServiceHistory, "waitingSince">): Run[] {
  const queues = queuesByPerson(queued, history)
  const sorted: Run[] = []
  for (let round = 0; queues.length > 0; round += 1) {
    let kept = 0
    for (const queue of queues) {
      const run = queue.runs[round]
      if (run === undefined) continue
      sorted.push(run)
      queues[kept] = queue
      kept += 1
    }
    queues.length = kept
  }
  return sorted
}

function queuesByPerson<Run extends QueuedRun>(queued: readonly Run[], history: Pick<ServiceHistory, "waitingSince">): PersonQueue<Run>[] {
  const byPerson = new Map<number, PersonQueue<Run>>()
  for (const run of queued) {
    const queue = byPerson.get(run.userId)
    if (queue) queue.runs.push(run)
    else byPerson.set(run.userId, { runs: [run], since: Math.max(run.createdAt, history.waitingSince(run.userId)), first: run.id })
  }
  // The difference of two infinities is not a number, so equal ones are compared first.
  return [...byPerson.values()].sort((a, b) => (a.since === b.since ? a.first - b.first : a.since - b.since))
}
