import { bounds } from "#contract"
import type { Logger } from "#kit"
import type { Store } from "#store"

const maxRows = bounds.runs.journalRows.value
const batchSize = 1_000

/** Removes the oldest rows of the journal beyond `maxRows`. */
export class JournalPruner {
  readonly #store: Pick<Store, "change" | "events">
  readonly #logger: Logger
  /** Begins so high that the first row of a process prunes what earlier processes left. */
  #rowsSincePruned = batchSize - 1

  constructor(store: Pick<Store, "change" | "events">, logger: Logger) {
    this.#store = store
    this.#logger = logger
  }

  /** Called for each new row; every `batchSize` rows the journal is pruned in the background. */
  countRow(): void {
    this.#rowsSincePruned += 1
    if (this.#rowsSincePruned < batchSize) return
    this.#rowsSincePruned = 0
    this.#prune().catch((err) => this.#logger.warn({ err }, "the journal was not pruned"))
  }

  async #prune(): Promise<void> {
    const { first, last } = await this.#store.events.bounds()
    if (last - first >= maxRows) await this.#store.change((tx) => tx.pruneJournal(last - maxRows))
  }
}
