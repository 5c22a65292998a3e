import { Failure } from "#contract"
import type { Session, Transaction } from "./driver.ts"
import type { Query } from "./queries/query.ts"
import type { Value } from "./values.ts"

/** What one change may use of the group's transaction, and only while it is the change's turn. */
export class GroupMember implements Session {
  readonly effects: (() => void)[] = []
  readonly #tx: Transaction
  #over = false
  #broken: { error: unknown } | undefined
  #underWay = 0
  #idle: (() => void) | undefined

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** Whether it is still this change's turn. */
  get open(): boolean {
    return !this.#over
  }

  afterCommit(effect: () => void): void {
    if (this.#over) throw overError()
    this.effects.push(effect)
  }

  /**
   * Runs the work to its end, statements that it did not wait for included. Afterwards nothing runs
   * through this member any more.
   */
  async settle<T>(work: (member: GroupMember) => Promise<T>, ms: number): Promise<T> {
    const value = await this.#inTime(work, ms).finally(() => this.#end())
    if (this.#broken) throw this.#broken.error
    return value
  }

  async #inTime<T>(work: (member: GroupMember) => Promise<T>, ms: number): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Failure("unavailable", `The change took longer than ${ms} ms and was undone`)), ms)
    try {
      return await Promise.race([work(this), late])
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * A statement always ends, by the database's own limits at the latest; it must not end in the
   * next member's savepoint.
   */
  async #end(): Promise<void> {
    this.#over = true
    if (this.#underWay === 0) return
    await new Promise<void>((resolve) => {
      this.#idle = resolve
    })
  }

  all<A extends object>(query: Query<A>, args: A): Promise<Value[][]> {
    return this.#do(() => this.#tx.all(query, args))
  }

  first<A extends object>(query: Query<A>, args: A): Promise<Value[] | undefined> {
    return this.#do(() => this.#tx.first(query, args))
  }

  run<A extends object>(query: Query<A>, args: A): Promise<number> {
    return this.#do(() => this.#tx.run(query, args))
  }

  async #do<T>(statement: () => Promise<T>): Promise<T> {
    if (this.#over) throw overError()
    if (this.#broken) throw this.#broken.error
    this.#underWay += 1
    try {
      return await statement()
    } catch (error) {
      this.#broken ??= { error }
      throw error
    } finally {
      this.#underWay -= 1
      if (this.#underWay === 0) this.#idle?.()
    }
  }
}

function overError(): Error {
  return new Error("The change is over: its tx cannot be used any more")
}
