import { bounds } from "#contract"
import type { Logger } from "#kit"
import type { Store } from "#store"

const { journalRows, journalBytes } = bounds.runs

export interface JournalPrunerOptions {
  store: Pick<Store, "change" | "events">
  logger: Logger
  /** Default: the bounds. */
  maxRows?: number
  maxBytes?: number
  /** Default 1,000. */
  batchSize?: number
}

/** Some rows in the order of their IDs. */
interface Batch {
  lastId: number
  bytes: number
}

/**
 * Removes the oldest rows of the journal beyond `maxRows`, and the oldest batches beyond
 * `maxBytes`. Adding up the bytes of the whole journal at once would block SQLite's process.
 */
export class JournalPruner {
  readonly #options: Required<JournalPrunerOptions>
  /** Begins so high that the first row of a process prunes what earlier processes left. */
  #rowsSincePruned: number
  /** The journal as it was last measured, oldest rows first. */
  #batches: Batch[] = []

  constructor(options: JournalPrunerOptions) {
    this.#options = { maxRows: journalRows.value, maxBytes: journalBytes.value, batchSize: 1_000, ...options }
    this.#rowsSincePruned = this.#options.batchSize - 1
  }

  /** Called for each new row; every `batchSize` rows the journal is pruned in the background. */
  countRow(): void {
    this.#rowsSincePruned += 1
    if (this.#rowsSincePruned < this.#options.batchSize) return
    this.#rowsSincePruned = 0
    this.prune().catch((err) => this.#options.logger.warn({ err }, "the journal was not pruned"))
  }

  async prune(): Promise<void> {
    const { store, maxRows } = this.#options
    const { first, last } = await store.events.bounds()
    await this.#measure(first, last)
    const upTo = Math.max(last - maxRows, this.#lastIdBeyondBytes())
    if (upTo >= first) await store.change((tx) => tx.pruneJournal(upTo))
  }

  /** Other processes remove rows too. */
  async #measure(first: number, last: number): Promise<void> {
    const { store, batchSize } = this.#options
    const batches = this.#batches.filter(({ lastId }) => lastId >= first)
    for (let after = batches.at(-1)?.lastId ?? first - 1; after < last; ) {
      const lastId = Math.min(after + batchSize, last)
      batches.push({ lastId, bytes: await store.events.bytesBetween(after, lastId) })
      after = lastId
    }
    this.#batches = batches
  }

  /** The last ID of the newest batch that does not fit; 0 if all do. */
  #lastIdBeyondBytes(): number {
    let bytes = 0
    const beyond = this.#batches.findLast((batch) => {
      bytes += batch.bytes
      return bytes > this.#options.maxBytes
    })
    return beyond?.lastId ?? 0
  }
}
