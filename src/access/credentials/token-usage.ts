import type { Clock, Logger } from "#kit"
import type { Store } from "#store"

const everyMs = 60_000
const gatherMs = 1_000

/**
 * Writes when tokens were last used: at most once a minute for each token, in batches of one
 * second.
 */
export class TokenUsageRecorder implements AsyncDisposable {
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  #pending = new Map<number, number>()
  #writing: Promise<void> = Promise.resolve()
  readonly #ending = new AbortController()

  constructor({ store, clock, logger }: { store: Store; clock: Clock; logger: Logger }) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
  }

  /** Called at every use; cheap until the minute has passed. */
  record(token: { id: number; recordedAt: number }): void {
    const now = this.#clock.now()
    if (now - token.recordedAt < everyMs) return
    token.recordedAt = now
    const first = this.#pending.size === 0
    this.#pending.set(token.id, now)
    if (first) this.#writing = this.#writing.then(() => this.#gather())
  }

  async #gather(): Promise<void> {
    if (!this.#ending.signal.aborted) await this.#clock.sleep(gatherMs, this.#ending.signal).catch(() => {})
    const uses = this.#pending
    this.#pending = new Map()
    try {
      await this.#store.change(async (tx) => {
        for (const [id, at] of uses) await tx.tokens.markUsed(id, at)
      })
    } catch (err) {
      this.#logger.warn({ err, tokens: uses.size }, "could not write when tokens were last used")
    }
  }

  /** Writes the pending batch. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort()
    await this.#writing
  }
}
