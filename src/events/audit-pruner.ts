import { bounds } from "#contract"
import type { Clock, Logger } from "#kit"
import type { Store } from "#store"

const dayMs = 86_400_000
/** Interval between two rounds of pruning. */
const pruneEveryMs = 600_000
/** Rows removed in one transaction; other writers proceed between the batches. */
const batchSize = 500
const pauseMs = 50

export interface AuditPrunerOptions {
  store: Pick<Store, "change">
  /** Rows older than this are removed. */
  maxDays: number
  /** The maximum number of rows per actor. Default: `bounds.runs.auditRows`. */
  maxRowsPerActor?: number
  clock: Clock
  logger: Logger
}

/** Removes rows of the audit by age and by their actor's maximum, in small steps. */
export class AuditPruner implements AsyncDisposable {
  readonly #options: AuditPrunerOptions
  /** Rows that each actor wrote since the last pruning. */
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

  /** Called for each row of this actor. */
  countRow(actor: string): void {
    this.#rowCounts.set(actor, (this.#rowCounts.get(actor) ?? 0) + 1)
  }

  async #pruneUntilClosed(): Promise<void> {
    let waitMs = pruneEveryMs
    while (await this.#pause(waitMs)) {
      const removed = await this.#prune().catch((err: unknown) => {
        this.#options.logger.warn({ err }, "the audit was not pruned")
        return 0
      })
      waitMs = removed < batchSize ? pruneEveryMs : pauseMs
    }
  }

  async #prune(): Promise<number> {
    const { store, clock, maxDays } = this.#options
    const removed = await store.change((tx) => tx.pruneAudit(clock.now() - maxDays * dayMs, batchSize))
    return removed < batchSize ? this.#pruneActors() : removed
  }

  /**
   * Prunes the rows of actors who wrote many. Actors who wrote few are pruned when these add up.
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

  /** Resolves with `false` once closed. */
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
