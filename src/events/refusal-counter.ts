import type { Clock, Logger } from "#kit"
import type { NewAuditEntry, Store } from "#store"

const minuteMs = 60_000
/** The maximum of counts in one minute; beyond it they are written early. */
const maxCounts = 1_000

type Counted = NewAuditEntry & { at: number; count: number }

export interface RefusalCounterOptions {
  store: Pick<Store, "change">
  clock: Clock
  logger: Logger
  /** Called for each row that is about to be written. */
  onRow?: (actor: string) => void
}

/**
 * Counts refusals by actor, action and minute, and writes each count once, when its minute is over
 * or the service stops: a flood of them is one row a minute, and no row is changed. A killed
 * process loses the counts that it did not write.
 */
export class RefusalCounter implements AsyncDisposable {
  readonly #options: RefusalCounterOptions
  readonly #closed = new AbortController()
  #counts = new Map<string, Counted>()
  /** The end of the minute that is counted; undefined while there is nothing to count. */
  #minute: Promise<void> | undefined
  /** Settled when all that was to be written is. */
  #written: Promise<void> = Promise.resolve()

  constructor(options: RefusalCounterOptions) {
    this.#options = options
  }

  count(refusal: Pick<NewAuditEntry, "actor" | "action" | "address" | "requestId">, count: number): void {
    const key = `${refusal.actor} ${refusal.action}`
    const known = this.#counts.get(key)
    if (known) known.count += count
    else this.#counts.set(key, { ...refusal, resource: null, outcome: "refused", at: this.#options.clock.now(), count })
    if (this.#counts.size > maxCounts) this.#write()
    this.#minute ??= this.#untilOver()
  }

  async #untilOver(): Promise<void> {
    const { clock } = this.#options
    const left = minuteMs - (clock.now() % minuteMs)
    await clock.sleep(left, this.#closed.signal).catch(() => {})
    this.#minute = undefined
    this.#write()
  }

  /** Counts that cannot be written are only logged: they must not fill memory. */
  #write(): void {
    const counts = [...this.#counts.values()]
    this.#counts = new Map()
    if (counts.length === 0) return
    const { store, logger, onRow } = this.#options
    for (const { actor } of counts) onRow?.(actor)
    const written = store
      .change(async (tx) => {
        for (const entry of counts) await tx.audit(entry)
      })
      .catch((err) => logger.error({ err, refusals: counts }, "refusals were not written to the audit"))
    this.#written = Promise.all([this.#written, written]).then(() => {})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort()
    await this.#minute
    this.#write()
    await this.#written
  }
}
