/** How long a piece of synchronous work may take before others run. */
const sliceMs = 5

/**
 * Schedules long synchronous work of many requests in slices, one in each turn of the event loop,
 * so that other requests are served in between. Slots rotate among people: one person's many
 * requests do not delay another's few.
 */
export class FairScheduler {
  readonly #waiting = new Map<number, (() => void)[]>()
  #isTaken = false

  /** Returns undefined when this turn of the event loop is still free. */
  waitForSlot(who: number): Promise<void> | undefined {
    if (this.#isTaken) return this.waitForNextSlot(who)
    this.#take()
    return undefined
  }

  /** Waits for a slice in a later turn of the event loop. */
  waitForNextSlot(who: number): Promise<void> {
    return new Promise((resolve) => {
      const mine = this.#waiting.get(who)
      if (mine) mine.push(resolve)
      else this.#waiting.set(who, [resolve])
      if (!this.#isTaken) this.#take()
    })
  }

  #take(): void {
    this.#isTaken = true
    setImmediate(() => this.#pass())
  }

  #pass(): void {
    this.#isTaken = false
    const first = this.#waiting.entries().next().value
    if (!first) return
    const [who, [resolve, ...rest]] = first
    // The person who had a slot moves behind the others.
    this.#waiting.delete(who)
    if (rest.length > 0) this.#waiting.set(who, rest)
    this.#take()
    resolve?.()
  }
}

/** Work for the main process shares one place among the people. */
export const systemUserId = 0

/** Pauses one piece of work whenever its slice is over. */
export class Yielder {
  readonly #slices: FairScheduler
  readonly #who: number
  #until = performance.now() + sliceMs

  constructor(slices: FairScheduler = sharedScheduler, who = systemUserId) {
    this.#slices = slices
    this.#who = who
  }

  /** Undefined, and so nothing to wait for, while the slice lasts. */
  pause(): Promise<void> | undefined {
    if (performance.now() < this.#until) return undefined
    return this.#slices.waitForNextSlot(this.#who).then(() => {
      this.#until = performance.now() + sliceMs
    })
  }
}

/** Of this process. */
export const sharedScheduler = new FairScheduler()
