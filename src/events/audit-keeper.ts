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
  clock: Clock
  logger: Logger
}

/** Removes rows of the audit by their age alone, in small steps, until it is disposed of. */
export class AuditKeeper implements AsyncDisposable {
  readonly #options: AuditKeeperOptions
  readonly #closed = new AbortController()
  readonly #rounds: Promise<void>

  constructor(options: AuditKeeperOptions) {
    this.#options = options
    this.#rounds = this.#run()
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

  #trim(): Promise<number> {
    const { store, clock, days } = this.#options
    return store.change((tx) => tx.trimAudit(clock.now() - days * dayMs, step))
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
