/** How many rows of one search stand in a block of IDs, and of which version of the block. */
export interface BlockCount {
  readonly version: string
  readonly n: number
}
export type BlockCounts = Map<number, BlockCount>

/** Searches that are kept. A million rows are 245 blocks, so all of them take a few MB. */
const maxKept = 200

/** The counts of the latest searches, by everything that decides what a search finds. */
export class SearchCounts {
  readonly #kept = new Map<string, BlockCounts>()

  /** Those of one search, made empty when it is new; marked as used. */
  of(key: string): BlockCounts {
    const counts: BlockCounts = this.#kept.get(key) ?? new Map()
    this.#kept.delete(key)
    this.#kept.set(key, counts)
    if (this.#kept.size > maxKept) this.#kept.delete(this.#kept.keys().next().value ?? "")
    return counts
  }
}
