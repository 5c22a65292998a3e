import type { Clock, Logger } from "#kit"
import type { Store } from "#store"

const everyMs = 60_000
const gatherMs = 1_000

/** A stored token or session, and when its last use was recorded. */
export interface UsedCredential {
  kind: "token" | "session"
  id: number
  recordedAt: number
}

/**
 * Writes when tokens and sessions were last used: at most once a minute for each, in batches of one
 * second.
 */
export class CredentialUsageRecorder implements AsyncDisposable {
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  #pending = new Map<string, UsedCredential>()
  /** The last use of the batch, which all of it gets. */
  #usedAt = 0
  #writing: Promise<void> = Promise.resolve()
  readonly #ending = new AbortController()

  constructor({ store, clock, logger }: { store: Store; clock: Clock; logger: Logger }) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
  }

  /** Called at every use; cheap until the minute has passed. */
  record(used: UsedCredential): void {
    const now = this.#clock.now()
    if (now - used.recordedAt < everyMs) return
    used.recordedAt = now
    this.#usedAt = now
    const first = this.#pending.size === 0
    this.#pending.set(`${used.kind} ${used.id}`, used)
    if (first) this.#writing = this.#writing.then(() => this.#gather())
  }

  async #gather(): Promise<void> {
    if (!this.#ending.signal.aborted) await this.#clock.sleep(gatherMs, this.#ending.signal).catch(() => {})
    const uses = [...this.#pending.values()]
    this.#pending = new Map()
    const idsOf = (kind: UsedCredential["kind"]) => uses.filter((used) => used.kind === kind).map(({ id }) => id)
    const at = this.#usedAt
    try {
      // One query for all: everybody's changes wait, and one person may have thousands of tokens.
      await this.#store.change(async (tx) => {
        await tx.tokens.markUsed(idsOf("token"), at)
        await tx.sessions.markUsed(idsOf("session"), at)
      })
    } catch (err) {
      this.#logger.warn({ err, credentials: uses.length }, "could not write when tokens and sessions were last used")
    }
  }

  /** Writes the pending batch. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort()
    await this.#writing
  }
}
