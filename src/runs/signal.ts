import type { Clock } from "#kit"

/**
 * Wakes one waiter. A notification without a waiter is stored for the next wait, so none is lost.
 */
export class Signal {
  #rung = false
  #wake = () => {}

  notify(): void {
    this.#rung = true
    this.#wake()
  }

  /** Resolves on `notify`, after `ms`, or when the signal is aborted; never rejects. */
  async wait(clock: Clock, signal: AbortSignal, ms?: number): Promise<void> {
    const over = new AbortController()
    const rung = new Promise<void>((resolve) => {
      this.#wake = resolve
      signal.addEventListener("abort", () => resolve(), { once: true, signal: over.signal })
    })
    if (!this.#rung && !signal.aborted) {
      const late = ms === undefined ? [] : [clock.sleep(Math.min(ms, longestSleep), over.signal).catch(() => {})]
      await Promise.race([rung, ...late])
    }
    over.abort()
    this.#rung = false
  }
}

/** Timers overflow at 2^31 ms; longer waits wake early and are repeated. */
const longestSleep = 3_600_000
