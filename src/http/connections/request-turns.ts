import { bounds } from "#contract"

const { turnRequests, strangerTurnRequests } = bounds.http

interface Group {
  /** The requests that were begun in this turn. */
  begun: number
  readonly waiting: (() => void)[]
}

/** The ID of a person, or an address. */
type Key = number | string

/** Requests that write together share a transaction: fewer of a person would cost the disk more. */
const shareOf = (key: Key) => (typeof key === "number" ? turnRequests : strangerTurnRequests).value

/**
 * Begins a few requests of each person or address in one turn of the event loop, and the others in
 * the next turns, in their order. Each of hundreds of connections may have a request ready in the
 * same turn, and however little one costs, others would wait until all of them are handled.
 */
export class RequestTurns {
  readonly #groups = new Map<Key, Group>()
  #isScheduled = false

  /**
   * Calls `begin` now or in a later turn. If `key` has had its share of this turn, the request
   * counts for `ownKey()`: people whose credentials are known do not wait for others of their
   * address.
   */
  run(key: Key, begin: () => void, ownKey: () => Key | undefined = () => undefined): void {
    const own = this.#groupOf(key).begun < shareOf(key) ? key : (ownKey() ?? key)
    const group = this.#groupOf(own)
    if (group.begun >= shareOf(own)) return void group.waiting.push(begin)
    group.begun += 1
    begin()
  }

  #groupOf(key: Key): Group {
    const group = this.#groups.get(key) ?? { begun: 0, waiting: [] }
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
      const next = group.waiting.splice(0, shareOf(key))
      group.begun = next.length
      if (next.length === 0) this.#groups.delete(key)
      for (const begin of next) begin()
    }
    if (this.#groups.size > 0) this.#schedule()
  }
}
