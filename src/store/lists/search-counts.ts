/**
 * The number of rows that a search finds in a block of IDs, and the counted version of the block.
 */
export interface BlockCount {
  readonly version: string
  readonly n: number
}
export type BlockCounts = Map<number, BlockCount>

/** The maximum of cached searches. A million rows are 245 blocks, so all take a few MB. */
const maxSearches = 200

/** The counts of the latest searches, by shape and arguments. */
export class SearchCounts {
  readonly #searches = new Map<string, BlockCounts>()

  /** The counts of one search, empty for a new one. Marks them as used. */
  of(key: string): BlockCounts {
    const counts: BlockCounts = this.#searches.get(key) ?? new Map()
    this.#searches.delete(key)
    this.#searches.set(key, counts)
    if (this.#searches.size > maxSearches) this.#searches.delete(this.#searches.keys().next().value ?? "")
    return counts
  }
}
