/**
 * How long a piece of synchronous work may take before others run. Each turn of the event loop
 * accepts one connection, so everybody's new ones wait for as many slices as there are before them.
 */
const sliceMs = 1

/**
 * Schedules long synchronous work of many requests in slices, one in each turn of the event loop,
 * so that other requests are served in between. Slots rotate among people: one person's many
 * requests do not delay another's few.
 */
export class FairScheduler {
  readonly #waiting = new Map<number, (() => void)[]>()
  #isTaken = false

  /** Returns undefined when this turn of the event loop is still free. */
  waitForSlot(userId: number): Promise<void> | undefined {
    if (this.#isTaken) return this.waitForNextSlot(userId)
    this.#take()
    return undefined
  }

  /** Waits for a slice in a later turn of the event loop. */
  waitForNextSlot(userId: number): Promise<void> {
    return new Promise((resolve) => {
      const mine = this.#waiting.get(userId)
      if (mine) mine.push(resolve)
      else this.#waiting.set(userId, [resolve])
      if (!this.#isTaken) this.#take()
    })
  }

  #take(): void {
    this.#isTaken = true
    setImmediate(() => this.#startNext())
  }

  #startNext(): void {
    this.#isTaken = false
    const first = this.#waiting.entries().next().value
    if (!first) return
    const [userId, [resolve, ...rest]] = first
    // The person who had a slot moves behind the others.
    this.#waiting.delete(userId)
    if (rest.length > 0) this.#waiting.set(userId, rest)
    this.#take()
    resolve?.()
  }
}

/** Work that no person asked for counts as that of one more person. */
export const systemUserId = 0

/** Pauses one piece of work whenever its slice is over. */
export class Yielder {
  readonly #scheduler: FairScheduler
  readonly #userId: number
  #until = performance.now() + sliceMs

  constructor(scheduler: FairScheduler = sharedScheduler, userId = systemUserId) {
    this.#scheduler = scheduler
    this.#userId = userId
  }

  /** Returns undefined, so that there is nothing to wait for, while the slice lasts. */
  pause(): Promise<void> | undefined {
    return performance.now() < this.#until ? undefined : this.nextSlice()
  }

  /** Ends the present slice early. */
  nextSlice(): Promise<void> {
    return this.#scheduler.waitForNextSlot(this.#userId).then(() => {
      this.#until = performance.now() + sliceMs
    })
  }
}

/** The scheduler of this process. */
export const sharedScheduler = new FairScheduler()
