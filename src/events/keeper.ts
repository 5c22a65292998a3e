import { bounds } from "#contract"
import type { Logger } from "#kit"
import type { Change, JournalEntry, Store } from "#store"

/** So many rows are kept at most, and some of the next batch. */
const keptRows = bounds.runs.journalRows.value
/** Rows are removed so many at a time. */
const batch = 1_000

/** Writes the journal, says when there is something new in it, and keeps it bounded. */
export class JournalKeeper {
  readonly #store: Store
  readonly #logger: Logger
  readonly #listeners = new Set<() => void>()
  /**
   * The first row of a process makes it look: what was left by processes that wrote little is
   * removed as well.
   */
  #sinceTrim = batch - 1

  constructor(store: Store, logger: Logger) {
    this.#store = store
    this.#logger = logger
  }

  async add(tx: Change, entry: JournalEntry): Promise<void> {
    await tx.journal(entry)
    tx.afterCommit(() => this.#written())
  }

  onWritten(listener: () => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  #written(): void {
    for (const tell of this.#listeners) tell()
    this.#sinceTrim += 1
    if (this.#sinceTrim < batch) return
    this.#sinceTrim = 0
    this.#trim().catch((err) => this.#logger.warn({ err }, "the journal was not trimmed"))
  }

  async #trim(): Promise<void> {
    const { first, last } = await this.#store.events.bounds()
    if (last - first >= keptRows) await this.#store.change((tx) => tx.trimJournal(last - keptRows))
  }
}
