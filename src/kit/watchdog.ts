import type { Clock } from "./clock.ts"

/**
 * Barks once when a state has lasted for too long since it was entered or since the last sign of
 * life.
 */
export class Watchdog implements Disposable {
  readonly #clock: Clock
  readonly #bark: () => void
  #watch = new AbortController()
  #since = 0

  constructor(clock: Clock, bark: () => void) {
    this.#clock = clock
    this.#bark = bark
  }

  enter(limit: number): void {
    this.#watch.abort()
    this.#watch = new AbortController()
    this.alive()
    this.#bite(limit, this.#watch.signal).catch(() => {})
  }

  alive(): void {
    this.#since = this.#clock.now()
  }

  async #bite(limit: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const left = this.#since + limit - this.#clock.now()
      if (left <= 0) return this.#bark()
      await this.#clock.sleep(left, signal)
    }
  }

  [Symbol.dispose](): void {
    this.#watch.abort()
  }
}
