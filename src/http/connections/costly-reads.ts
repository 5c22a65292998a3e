/** A connection whose reading can be stopped for a moment. */
export interface PausableConnection {
  pauseReading(): void
  resumeReading(): void
}

interface PausedGroup {
  connections: Set<PausableConnection>
  /** Whether one of the group had a costly read since the last turn. */
  hasCostlyRead: boolean
}

/**
 * Lets the connections of one person or address read in different turns of the event loop. One read
 * may hold a thousand requests or ten thousand chunks, all of which Node parses at once, and as
 * many connections as one likes may have such a read ready in the same turn.
 */
export class CostlyReads<Key> {
  readonly #groups = new Map<Key, PausedGroup>()
  #isScheduled = false

  /** To be called within a read: these connections read on later, one of them in the next turn. */
  pause(key: Key, connections: Iterable<PausableConnection>): void {
    const group = this.#groups.get(key) ?? { connections: new Set(), hasCostlyRead: true }
    this.#groups.set(key, group)
    group.hasCostlyRead = true
    for (const each of connections) {
      if (group.connections.has(each)) continue
      group.connections.add(each)
      each.pauseReading()
    }
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#resume())
  }

  /** All of a group read on after a turn without a costly read: the next one pauses them again. */
  #resume(): void {
    this.#isScheduled = false
    for (const [key, group] of this.#groups) {
      for (const each of group.connections) {
        group.connections.delete(each)
        each.resumeReading()
        if (group.hasCostlyRead) break
      }
      group.hasCostlyRead = false
      if (group.connections.size === 0) this.#groups.delete(key)
    }
    if (this.#groups.size > 0) this.#schedule()
  }
}
