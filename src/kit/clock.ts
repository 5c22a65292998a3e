/** The source of time. Code that waits or reads the time takes one, so that tests need not wait. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Whole milliseconds since some moment. It never jumps when the system's time is set. */
  monotonic(): number
  /**
   * Resolves after `ms`, or rejects with the signal's reason if it aborts first. Does not keep the
   * process alive.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Math.floor(performance.now()),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort)
        resolve()
      }, ms)
      timer.unref()
      signal?.addEventListener("abort", onAbort, { once: true })
    }),
}

interface Sleeper {
  at: number
  wake(): void
}

/** A clock that moves only by `advance`. */
export class ManualClock implements Clock {
  #now: number
  readonly #sleepers = new Set<Sleeper>()

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const sleeper: Sleeper = { at: this.#now + ms, wake: resolve }
      this.#sleepers.add(sleeper)
      signal?.addEventListener(
        "abort",
        () => {
          if (this.#sleepers.delete(sleeper)) reject(signal.reason)
        },
        { once: true },
      )
    })
  }

  /** Moves time forward and wakes due sleepers, earliest first. Resolves after they have run. */
  async advance(ms: number): Promise<void> {
    this.#now += ms
    const due = [...this.#sleepers].filter((s) => s.at <= this.#now).sort((a, b) => a.at - b.at)
    for (const sleeper of due) {
      this.#sleepers.delete(sleeper)
      sleeper.wake()
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}
