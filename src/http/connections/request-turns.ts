import { bounds } from "#contract"
import type { TurnOwner } from "./turn-budget.ts"

const turnMs = bounds.http.turnRequestMs.value
/** As many of a group as are tried in a turn: more take longer than it lasts. */
const maxTried = 64

interface Group {
  /** When the first request of this turn was begun. */
  since: number | undefined
  readonly waiting: (() => void)[]
}

/**
 * Begins requests of each person or address for a short time in one turn of the event loop, and the
 * others in the next turns, in their order. Each of hundreds of connections may have a request
 * ready in the same turn, and however little one costs, others would wait until all of them are
 * handled. Requests that write together share a transaction: a few of a person begin in each turn.
 */
export class RequestTurns {
  readonly #groups = new Map<TurnOwner, Group>()
  readonly #now: () => number
  #isScheduled = false

  /** `now`: in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /**
   * Calls `begin` now or in a later turn. If `key` has had its time of this turn, the request
   * counts for `ownKey()`: people whose credentials are known do not wait for others of their
   * address.
   */
  run(key: TurnOwner, begin: () => void, ownKey: () => TurnOwner | undefined = () => undefined): void {
    const own = this.#isFree(key) ? key : (ownKey() ?? key)
    const group = this.#groupOf(own)
    if (this.#isFree(own)) this.#begin(group, begin)
    else group.waiting.push(begin)
  }

  #isFree(key: TurnOwner): boolean {
    const group = this.#groupOf(key)
    return group.waiting.length === 0 && this.#hasTime(group)
  }

  #hasTime({ since }: Group): boolean {
    return since === undefined || this.#now() - since < turnMs
  }

  #begin(group: Group, begin: () => void): void {
    group.since ??= this.#now()
    begin()
  }

  #groupOf(key: TurnOwner): Group {
    const group = this.#groups.get(key) ?? { since: undefined, waiting: [] }
    this.#groups.set(key, group)
    this.#schedule()
    return group
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#startTurn())
  }

  #startTurn(): void {
    this.#isScheduled = false
    for (const [key, group] of this.#groups) {
      if (group.since === undefined && group.waiting.length === 0) this.#groups.delete(key)
      group.since = undefined
      // Each in a callback of its own, before which what the last one did at once is over.
      for (let n = Math.min(group.waiting.length, maxTried); n > 0; n -= 1) setImmediate(() => this.#beginNext(group))
    }
    if (this.#groups.size > 0) this.#schedule()
  }

  #beginNext(group: Group): void {
    if (this.#hasTime(group)) this.#begin(group, group.waiting.shift() as () => void)
  }
}
