import { setTimeout as pause } from "node:timers/promises"
import { sharedScheduler } from "../fair-scheduler.ts"

/** A person's next work waits for this multiple of the last one's duration. */
const pauseFactor = 2

/**
 * Schedules heavy work of people. One piece of a person's work is done at a time, in a turn of the
 * event loop of its own, and a pause follows it. A person with any amount of work therefore takes
 * only a part of the processor, and delays neither requests nor another's work.
 */
export class HeavyWorkQueue {
  /** The end of each person's last work that runs or waits. */
  readonly #ends = new Map<number, Promise<void>>()

  /** Settles when the work is done. The pause after it delays the person's next work only. */
  async run<T>(userId: number, work: () => T | Promise<T>): Promise<T> {
    const previous = this.#ends.get(userId)
    const { promise: end, resolve } = Promise.withResolvers<void>()
    this.#ends.set(userId, end)
    await previous
    await sharedScheduler.waitForNextSlot(userId)
    const began = performance.now()
    try {
      return await work()
    } finally {
      void pause(pauseFactor * (performance.now() - began)).then(() => {
        resolve()
        if (this.#ends.get(userId) === end) this.#ends.delete(userId)
      })
    }
  }
}
