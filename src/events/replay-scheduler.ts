import { setTimeout as pause } from "node:timers/promises"
import { bounds } from "#contract"
import { Semaphore, sharedScheduler } from "#kit"

/** Pages that are read at once, of different people. */
const maxPages = bounds.rates.replayPages.value
/** A person's next page waits for this multiple of the last one's duration. */
const pauseFactor = 2

/**
 * Schedules the pages of replays. One page of a person is read at a time, in a turn of the event
 * loop of its own, and a pause follows it. A person with many streams at old positions therefore
 * delays neither requests nor other readers.
 */
export class ReplayScheduler {
  readonly #slots = new Semaphore(maxPages)
  /** The end of each person's last page that runs or waits. */
  readonly #ends = new Map<number, Promise<void>>()

  /** Resolves when the page is read. The pause after it delays the person's next page only. */
  async run(userId: number, readPage: () => Promise<void>): Promise<void> {
    const previous = this.#ends.get(userId)
    const { promise: end, resolve } = Promise.withResolvers<void>()
    this.#ends.set(userId, end)
    await previous
    let pauseMs = 0
    try {
      await this.#slots.run(async () => {
        await sharedScheduler.waitForNextSlot(userId)
        const began = performance.now()
        await readPage().finally(() => {
          pauseMs = pauseFactor * (performance.now() - began)
        })
      })
    } finally {
      void pause(pauseMs).then(() => {
        resolve()
        if (this.#ends.get(userId) === end) this.#ends.delete(userId)
      })
    }
  }
}
