import type { Clock } from "#kit"

/**
 * Wakes one waiter. A notification without a waiter is stored for the next wait, so none is lost.
 */
export class WakeSignal {
  #isNotified = false
  #wake = () => {}

  notify(): void {
    this.#isNotified = true
    this.#wake()
  }

  /** Resolves on `notify`, after `ms`, or when the signal is aborted; never rejects. */
  async wait(clock: Clock, signal: AbortSignal, ms?: number): Promise<void> {
    const waitEnd = new AbortController()
    const notified = new Promise<void>((resolve) => {
      this.#wake = resolve
      signal.addEventListener("abort", () => resolve(), { once: true, signal: waitEnd.signal })
    })
    if (!this.#isNotified && !signal.aborted) {
      const timeout = ms === undefined ? [] : [clock.sleep(Math.min(ms, maxSleepMs), waitEnd.signal).catch(() => {})]
      await Promise.race([notified, ...timeout])
    }
    waitEnd.abort()
    this.#isNotified = false
  }
}

/** Timers overflow at 2^31 ms; longer waits wake early and are repeated. */
const maxSleepMs = 3_600_000
