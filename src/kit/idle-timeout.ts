import type { Clock } from "./clock.ts"

/** Calls `onTimeout` once if `refresh` was not called within the limit. */
export class IdleTimeout implements Disposable {
  readonly #clock: Clock
  readonly #onTimeout: () => void
  #running = new AbortController()
  #since = 0

  constructor(clock: Clock, onTimeout: () => void) {
    this.#clock = clock
    this.#onTimeout = onTimeout
  }

  /** Starts again with this limit. */
  start(limitMs: number): void {
    this.#running.abort()
    this.#running = new AbortController()
    this.refresh()
    this.#run(limitMs, this.#running.signal).catch(() => {})
  }

  /** Restarts the limit from now. */
  refresh(): void {
    this.#since = this.#clock.now()
  }

  async #run(limitMs: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const leftMs = this.#since + limitMs - this.#clock.now()
      if (leftMs <= 0) return this.#onTimeout()
      await this.#clock.sleep(leftMs, signal)
    }
  }

  [Symbol.dispose](): void {
    this.#running.abort()
  }
}
