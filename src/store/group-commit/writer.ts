import { AsyncLocalStorage } from "node:async_hooks"
import { setImmediate as turn } from "node:timers/promises"
import { Failure } from "#contract"
import type { Clock, Logger } from "#kit"
import type { Driver, Transaction } from "../driver.ts"
import { isStorageFull } from "../errors.ts"
import { readAsNobody } from "../postgres/reading-person.ts"
import type { ChangeOptions } from "../store.ts"
import { ChangeTransaction } from "./change-transaction.ts"

/**
 * A group ends at these maxima: no read runs between its changes, and the first change waits for
 * the last.
 */
const maxGroupSize = 256
const maxGroupMs = 20

export interface WriterOptions {
  driver: Driver
  logger: Logger
  clock: Clock
  /** Milliseconds that one change may take. */
  timeoutMs: number
}

type Work<T> = (change: ChangeTransaction) => Promise<T>

interface QueuedChange {
  work: Work<unknown>
  urgent: boolean
  resolve(value: unknown): void
  reject(error: unknown): void
}

type Outcome = { ok: true; value: unknown; effects: readonly (() => void)[] } | { ok: false; error: unknown }

/**
 * Runs changes one at a time, in order but for those that go first, and commits all that are queued
 * together.
 */
export class Writer {
  readonly #driver: Driver
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #queue: QueuedChange[] = []
  /** They run before the queue. */
  readonly #first: QueuedChange[] = []
  readonly #current = new AsyncLocalStorage<ChangeTransaction>()
  #running: Promise<void> | undefined
  #closed = false

  constructor(options: WriterOptions) {
    this.#driver = options.driver
    this.#logger = options.logger
    this.#clock = options.clock
    this.#timeoutMs = options.timeoutMs
  }

  change<T>(work: Work<T>, { urgent = false, first = false }: ChangeOptions = {}): Promise<T> {
    if (this.#closed) return Promise.reject(new Failure("unavailable", "The database is closed"))
    if (this.#current.getStore()?.isOpen) return Promise.reject(new Error("A change cannot wait for another one inside itself: use its tx"))
    return new Promise<T>((resolve, reject) => {
      const queue = first ? this.#first : this.#queue
      queue.push({ work, urgent, resolve: resolve as (value: unknown) => void, reject })
      // It makes everybody's changes, whoever began it.
      this.#running ??= readAsNobody(() => this.#drain())
    })
  }

  /** Resolves when all queued changes are done; later ones are rejected. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  async #drain(): Promise<void> {
    await turn()
    while (this.#first.length + this.#queue.length > 0) {
      await this.#runGroup([...this.#first.splice(0), ...this.#queue.splice(0, maxGroupSize)])
      await turn()
    }
    this.#running = undefined
  }

  /** While the reserve is not whole, only urgent changes may use the disk. */
  #admit(queued: QueuedChange[]): QueuedChange[] {
    if (this.#driver.reserve?.restore() ?? true) return queued
    for (const each of queued) if (!each.urgent) each.reject(new Failure("storage_full", "The disk that holds the database is full"))
    return queued.filter(({ urgent }) => urgent)
  }

  async #runGroup(queued: QueuedChange[]): Promise<void> {
    const group = this.#admit(queued)
    if (group.length === 0) return
    const attempt = await this.#attempt(group)
    if (!("lost" in attempt)) return this.#settleGroup(group, attempt.outcomes)
    for (const change of group) {
      const ends = group.length === 1 || attempt.refused
      if (!ends || this.#releaseReserve(change, attempt.lost)) await this.#runGroup([change])
      else change.reject(attempt.lost)
    }
  }

  /** Releases a part of the reserve for an urgent change; true if it may succeed now. */
  #releaseReserve({ urgent }: QueuedChange, error: unknown): boolean {
    return urgent && isStorageFull(error) && (this.#driver.reserve?.release() ?? false)
  }

  /** Commits all changes of the group, or none. `refused`: one by one they would fail, too. */
  async #attempt(group: QueuedChange[]): Promise<{ outcomes: Outcome[] } | { lost: unknown; refused: boolean }> {
    let tx: Transaction | undefined
    let committing = false
    try {
      tx = await this.#driver.begin()
      const outcomes = group.length === 1 ? [await this.#runAlone(tx, group)] : await this.#runInSavepoints(tx, group)
      committing = outcomes.some((outcome) => outcome.ok)
      if (committing) await tx.commit()
      else await tx.rollback()
      return { outcomes }
    } catch (error) {
      await tx?.rollback().catch((err) => this.#logger.error({ err }, "A transaction could not be rolled back"))
      return { lost: error, refused: tx === undefined || (committing && !isStorageFull(error)) }
    }
  }

  /** Changes beyond the group's maximum time return to the front of the queue. */
  async #runInSavepoints(tx: Transaction, group: QueuedChange[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    const started = this.#clock.now()
    for (const queued of group) {
      await tx.savepoint()
      const outcome = await this.#run(tx, queued, group)
      const lost = tx.lost()
      if (lost) throw lost
      if (outcome.ok) await tx.release()
      else await tx.rollbackToSavepoint()
      outcomes.push(outcome)
      if (this.#clock.now() - started > maxGroupMs) this.#queue.unshift(...group.splice(outcomes.length))
    }
    return outcomes
  }

  async #runAlone(tx: Transaction, group: QueuedChange[]): Promise<Outcome> {
    const outcome = await this.#run(tx, group[0] as QueuedChange, group)
    const lost = tx.lost()
    if (lost) throw lost
    return outcome
  }

  async #run(tx: Transaction, queued: QueuedChange, group: object): Promise<Outcome> {
    const change = new ChangeTransaction(tx, group)
    try {
      const value = await this.#current.run(change, () => change.settle(queued.work, this.#timeoutMs))
      return { ok: true, value, effects: change.effects }
    } catch (error) {
      return { ok: false, error }
    }
  }

  async #settleGroup(group: readonly QueuedChange[], outcomes: readonly Outcome[]): Promise<void> {
    const retries: QueuedChange[] = []
    for (const [i, outcome] of outcomes.entries()) {
      const queued = group[i] as QueuedChange
      if (outcome.ok) {
        for (const effect of outcome.effects) this.#runEffect(effect)
        queued.resolve(outcome.value)
      } else if (this.#releaseReserve(queued, outcome.error)) retries.push(queued)
      else queued.reject(outcome.error)
    }
    for (const queued of retries) await this.#runGroup([queued])
  }

  #runEffect(effect: () => void): void {
    try {
      effect()
    } catch (err) {
      this.#logger.error({ err }, "An effect of a committed change failed")
    }
  }
}
