import { type Clock, systemClock } from "#kit"

/** A clock whose time a test advances, while its sleeps take real time. */
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
