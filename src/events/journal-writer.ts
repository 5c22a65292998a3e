import type { Change, NewJournalEntry } from "#store"
import type { JournalPruner } from "./journal-pruner.ts"

/** Writes rows of the journal and notifies listeners after their COMMIT. */
export class JournalWriter {
  readonly #pruner: Pick<JournalPruner, "countRow">
  readonly #listeners = new Set<() => void>()

  constructor(pruner: Pick<JournalPruner, "countRow">) {
    this.#pruner = pruner
  }

  async add(tx: Change, entry: NewJournalEntry): Promise<void> {
    await tx.journal(entry)
    tx.afterCommit(() => this.#notify())
  }

  onWrite(listener: () => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
    this.#pruner.countRow()
  }
}
