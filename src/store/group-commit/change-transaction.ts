import { Failure } from "#contract"
import type { QueryRunner, Transaction } from "../driver.ts"
import type { Query } from "../queries/query.ts"
import type { ColumnValue } from "../values.ts"

/** The group's transaction for one of its changes, usable only while that change runs. */
export class ChangeTransaction implements QueryRunner {
  readonly effects: (() => void)[] = []
  /** The same for all changes of one group. */
  readonly group: object
  readonly #tx: Transaction
  #isOver = false
  #broken: { error: unknown } | undefined
  #pending = 0
  #idle: (() => void) | undefined

  constructor(tx: Transaction, group: object) {
    this.#tx = tx
    this.group = group
  }

  /** Whether the change still runs. */
  get isOpen(): boolean {
    return !this.#isOver
  }

  afterCommit(effect: () => void): void {
    if (this.#isOver) throw overError()
    this.effects.push(effect)
  }

  /**
   * Runs the work to its end, with the statements that it did not await. Every later statement is
   * rejected.
   */
  async settle<T>(work: (tx: ChangeTransaction) => Promise<T>, timeoutMs: number): Promise<T> {
    const value = await this.#runBefore(work, timeoutMs).finally(() => this.#awaitPending())
    if (this.#broken) throw this.#broken.error
    return value
  }

  async #runBefore<T>(work: (tx: ChangeTransaction) => Promise<T>, timeoutMs: number): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => reject(new Failure("unavailable", `The change took longer than ${timeoutMs} ms and was undone`)),
      timeoutMs,
    )
    try {
      return await Promise.race([work(this), late])
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * Pending statements must not run in the next change's savepoint. The database's own time-outs
   * end each of them.
   */
  async #awaitPending(): Promise<void> {
    this.#isOver = true
    if (this.#pending === 0) return
    await new Promise<void>((resolve) => {
      this.#idle = resolve
    })
  }

  all<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[][]> {
    return this.#send(() => this.#tx.all(query, args))
  }

  first<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[] | undefined> {
    return this.#send(() => this.#tx.first(query, args))
  }

  run<A extends object>(query: Query<A>, args: A): Promise<number> {
    return this.#send(() => this.#tx.run(query, args))
  }

  async #send<T>(statement: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw overError()
    if (this.#broken) throw this.#broken.error
    this.#pending += 1
    try {
      return await statement()
    } catch (error) {
      this.#broken ??= { error }
      throw error
    } finally {
      this.#pending -= 1
      if (this.#pending === 0) this.#idle?.()
    }
  }
}

function overError(): Error {
  return new Error("The change is over: its tx cannot be used any more")
}
