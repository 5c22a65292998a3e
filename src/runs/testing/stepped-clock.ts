import { type Clock, systemClock } from "#kit"

/**
 * A clock that is set by hand and whose waits are real: what happens every few milliseconds goes
 * on, and hours pass when they are told to.
 */
export class SteppedClock implements Clock {
  #now = Date.UTC(2026, 0, 1)
  readonly sleep = systemClock.sleep

  now(): number {
    return this.#now
  }

  advance(ms: number): void {
    this.#now += ms
  }
}
