import { AsyncLocalStorage } from "node:async_hooks"
import { setImmediate as turn } from "node:timers/promises"
import { Failure } from "#contract"
import type { Logger } from "#kit"
import type { Driver, Transaction } from "./driver.ts"
import { isStorageFull } from "./errors.ts"
import { GroupMember } from "./group-member.ts"
import type { ChangeOptions } from "./store.ts"

/**
 * A group ends after so many members or milliseconds: its members run without a pause for reads,
 * and the first waits for the last.
 */
const maxGroupSize = 256
const maxGroupMs = 20

export interface WriterOptions {
  driver: Driver
  logger: Logger
  /** Milliseconds that one change may take. */
  timeoutMs: number
}

type Work<T> = (member: GroupMember) => Promise<T>

interface QueuedChange {
  work: Work<unknown>
  urgent: boolean
  resolve(value: unknown): void
  reject(error: unknown): void
}

type Outcome = { ok: true; value: unknown; effects: readonly (() => void)[] } | { ok: false; error: unknown }

/**
 * Runs changes one at a time, in the order in which they came, and commits those that waited
 * together at once.
 */
export class Writer {
  readonly #driver: Driver
  readonly #logger: Logger
  readonly #timeoutMs: number
  readonly #queue: QueuedChange[] = []
  readonly #current = new AsyncLocalStorage<GroupMember>()
  #running: Promise<void> | undefined
  #closed = false

  constructor(options: WriterOptions) {
    this.#driver = options.driver
    this.#logger = options.logger
    this.#timeoutMs = options.timeoutMs
  }

  change<T>(work: Work<T>, { urgent = false }: ChangeOptions = {}): Promise<T> {
    if (this.#closed) return Promise.reject(new Failure("unavailable", "The database is closed"))
    if (this.#current.getStore()?.open) return Promise.reject(new Error("A change cannot wait for another one inside itself: use its tx"))
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, urgent, resolve: resolve as (value: unknown) => void, reject })
      this.#running ??= this.#drain()
    })
  }

  /** Resolves when all changes that wait are done; further ones are refused. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  async #drain(): Promise<void> {
    await turn()
    while (this.#queue.length > 0) {
      await this.#runGroup(this.#queue.splice(0, maxGroupSize))
      await turn()
    }
    this.#running = undefined
  }

  /** While room that was kept back is on loan, it is for those only for whom it was given up. */
  #admitted(waiting: QueuedChange[]): QueuedChange[] {
    if (this.#driver.reserve?.restore() ?? true) return waiting
    for (const each of waiting) if (!each.urgent) each.reject(new Failure("storage_full", "The disk that holds the database is full"))
    return waiting.filter(({ urgent }) => urgent)
  }

  async #runGroup(waiting: QueuedChange[]): Promise<void> {
    const group = this.#admitted(waiting)
    if (group.length === 0) return
    const attempt = await this.#attempt(group)
    if (!("lost" in attempt)) return this.#settle(group, attempt.outcomes)
    for (const waiting of group) {
      const ends = group.length === 1 || attempt.refused
      if (!ends || this.#freesReserve(waiting, attempt.lost)) await this.#runGroup([waiting])
      else waiting.reject(attempt.lost)
    }
  }

  /** Whether the change has a better chance now: it comes to an end with what is kept back. */
  #freesReserve({ urgent }: QueuedChange, error: unknown): boolean {
    return urgent && isStorageFull(error) && (this.#driver.reserve?.release() ?? false)
  }

  /**
   * Everything is committed, or nothing is. `refused`: running the members one by one would not
   * help.
   */
  async #attempt(group: QueuedChange[]): Promise<{ outcomes: Outcome[] } | { lost: unknown; refused: boolean }> {
    let tx: Transaction | undefined
    let committing = false
    try {
      tx = await this.#driver.begin()
      const outcomes = group.length === 1 ? [await this.#runAlone(tx, group[0] as QueuedChange)] : await this.#runMembers(tx, group)
      committing = outcomes.some((outcome) => outcome.ok)
      if (committing) await tx.commit()
      else await tx.rollback()
      return { outcomes }
    } catch (error) {
      await tx?.rollback().catch((err) => this.#logger.error({ err }, "A transaction could not be rolled back"))
      return { lost: error, refused: tx === undefined || (committing && !isStorageFull(error)) }
    }
  }

  /**
   * Members whose turn did not come in time wait for the next group, before those that came later.
   */
  async #runMembers(tx: Transaction, group: QueuedChange[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    const started = performance.now()
    for (const waiting of group) {
      await tx.savepoint()
      const outcome = await this.#run(tx, waiting)
      const lost = tx.lost()
      if (lost) throw lost
      if (outcome.ok) await tx.release()
      else await tx.rollbackToSavepoint()
      outcomes.push(outcome)
      if (performance.now() - started > maxGroupMs) this.#queue.unshift(...group.splice(outcomes.length))
    }
    return outcomes
  }

  async #runAlone(tx: Transaction, waiting: QueuedChange): Promise<Outcome> {
    const outcome = await this.#run(tx, waiting)
    const lost = tx.lost()
    if (lost) throw lost
    return outcome
  }

  async #run(tx: Transaction, waiting: QueuedChange): Promise<Outcome> {
    const member = new GroupMember(tx)
    try {
      const value = await this.#current.run(member, () => member.settle(waiting.work, this.#timeoutMs))
      return { ok: true, value, effects: member.effects }
    } catch (error) {
      return { ok: false, error }
    }
  }

  async #settle(group: readonly QueuedChange[], outcomes: readonly Outcome[]): Promise<void> {
    const retries: QueuedChange[] = []
    for (const [i, outcome] of outcomes.entries()) {
      const waiting = group[i] as QueuedChange
      if (outcome.ok) {
        for (const effect of outcome.effects) this.#runEffect(effect)
        waiting.resolve(outcome.value)
      } else if (this.#freesReserve(waiting, outcome.error)) retries.push(waiting)
      else waiting.reject(outcome.error)
    }
    for (const waiting of retries) await this.#runGroup([waiting])
  }

  #runEffect(effect: () => void): void {
    try {
      effect()
    } catch (err) {
      this.#logger.error({ err }, "What follows a change failed")
    }
  }
}
