import { sharedScheduler } from "../fair-scheduler.ts"

/** The part of a turn of the event loop that one person's work may take. */
const shareMs = 1

/**
 * Runs short pieces of work of people at once, as long as a person's pieces take little time of the
 * present turn of the event loop. Further ones run in later turns: hundreds of requests of one
 * person may arrive together, and others would wait until all of them are answered.
 */
export class TurnShares {
  readonly #spentMs = new Map<number, number>()
  #turn = 0

  async run<T>(userId: number, work: () => T | Promise<T>): Promise<T> {
    if ((this.#spentMs.get(userId) ?? 0) >= shareMs) await sharedScheduler.waitForNextSlot(userId)
    const turn = this.#turn
    let last = performance.now()
    const count = () => {
      const now = performance.now()
      // Work that ends in another turn waited for something, and others ran meanwhile.
      if (turn === this.#turn) this.#add(userId, now - last)
      last = now
    }
    try {
      const result = work()
      count()
      return await result
    } finally {
      count()
    }
  }

  #add(userId: number, ms: number): void {
    if (this.#spentMs.size === 0) setImmediate(() => this.#endTurn())
    this.#spentMs.set(userId, (this.#spentMs.get(userId) ?? 0) + ms)
  }

  #endTurn(): void {
    this.#turn += 1
    this.#spentMs.clear()
  }
}
