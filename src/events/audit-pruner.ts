import { bounds } from "#contract"
import type { Clock, Logger } from "#kit"
import type { Store } from "#store"

const dayMs = 86_400_000
/** Every so often it is looked whether rows are too old. */
const pruneEveryMs = 600_000
/** Rows are removed so many at a time, and others have the writer in between. */
const batchSize = 500
const pauseMs = 50

export interface AuditPrunerOptions {
  store: Pick<Store, "change">
  /** Rows are kept for so many days. */
  maxDays: number
  /** So many rows of each actor are kept. Default: `bounds.runs.auditRows`. */
  maxRowsPerActor?: number
  clock: Clock
  logger: Logger
}

/**
 * Removes rows of the audit by their age and by their actor's number, in small steps, until it is
 * disposed of.
 */
export class AuditPruner implements AsyncDisposable {
  readonly #options: AuditPrunerOptions
  /** Rows that each actor wrote since their number was looked at. */
  readonly #rowCounts = new Map<string, number>()
  readonly #closed = new AbortController()
  #pruning: Promise<void> = Promise.resolve()

  constructor(options: AuditPrunerOptions) {
    this.#options = options
  }

  /** Prunes every ten minutes until disposed of. */
  start(): void {
    this.#pruning = this.#pruneUntilClosed()
  }

  /** A row of this actor's is written. */
  countRow(actor: string): void {
    this.#rowCounts.set(actor, (this.#rowCounts.get(actor) ?? 0) + 1)
  }

  async #pruneUntilClosed(): Promise<void> {
    let wait = pruneEveryMs
    while (await this.#pause(wait)) {
      const removed = await this.#prune().catch((err: unknown) => {
        this.#options.logger.warn({ err }, "the audit was not trimmed")
        return 0
      })
      wait = removed < batchSize ? pruneEveryMs : pauseMs
    }
  }

  async #prune(): Promise<number> {
    const { store, clock, maxDays } = this.#options
    const removed = await store.change((tx) => tx.pruneAudit(clock.now() - maxDays * dayMs, batchSize))
    return removed < batchSize ? this.#pruneActors() : removed
  }

  /**
   * Looks at those who wrote much. Whoever wrote little since the start of the process is looked at
   * when that adds up.
   */
  async #pruneActors(): Promise<number> {
    const { maxRowsPerActor = bounds.runs.auditRows.value } = this.#options
    for (const [actor, count] of this.#rowCounts) {
      if (count < batchSize) continue
      const removed = await this.#options.store.change((tx) => tx.pruneAuditOf(actor, maxRowsPerActor, batchSize))
      if (removed === batchSize) return removed
      this.#rowCounts.delete(actor)
    }
    return 0
  }

  /** Resolves with whether to go on. */
  async #pause(ms: number): Promise<boolean> {
    const { signal } = this.#closed
    await this.#options.clock.sleep(ms, signal).catch(() => {})
    return !signal.aborted
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort()
    await this.#pruning
  }
}
