import { bounds } from "#contract"
import type { Clock, Logger } from "#kit"
import type { Store } from "#store"

const dayMs = 86_400_000
/** Every so often it is looked whether rows are too old. */
const everyMs = 600_000
/** Rows are removed so many at a time, and others have the writer in between. */
const step = 500
const pauseMs = 50

export interface AuditKeeperOptions {
  store: Pick<Store, "change">
  /** Rows are kept for so many days. */
  days: number
  /** So many rows of each actor are kept. Default: `bounds.runs.auditRows`. */
  rows?: number
  clock: Clock
  logger: Logger
}

/**
 * Removes rows of the audit by their age and by their actor's number, in small steps, until it is
 * disposed of.
 */
export class AuditKeeper implements AsyncDisposable {
  readonly #options: AuditKeeperOptions
  /** Rows that each actor wrote since their number was looked at. */
  readonly #written = new Map<string, number>()
  readonly #closed = new AbortController()
  readonly #rounds: Promise<void>

  constructor(options: AuditKeeperOptions) {
    this.#options = options
    this.#rounds = this.#run()
  }

  /** A row of this actor's is written. */
  wrote(actor: string): void {
    this.#written.set(actor, (this.#written.get(actor) ?? 0) + 1)
  }

  async #run(): Promise<void> {
    let wait = everyMs
    while (await this.#pause(wait)) {
      const removed = await this.#trim().catch((err: unknown) => {
        this.#options.logger.warn({ err }, "the audit was not trimmed")
        return 0
      })
      wait = removed < step ? everyMs : pauseMs
    }
  }

  async #trim(): Promise<number> {
    const { store, clock, days } = this.#options
    const removed = await store.change((tx) => tx.trimAudit(clock.now() - days * dayMs, step))
    return removed < step ? this.#trimActors() : removed
  }

  /**
   * Looks at those who wrote much. Whoever wrote little since the start of the process is looked at
   * when that adds up.
   */
  async #trimActors(): Promise<number> {
    const { rows = bounds.runs.auditRows.value } = this.#options
    for (const [actor, count] of this.#written) {
      if (count < step) continue
      const removed = await this.#options.store.change((tx) => tx.trimAuditOf(actor, rows, step))
      if (removed === step) return removed
      this.#written.delete(actor)
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
    await this.#rounds
  }
}
