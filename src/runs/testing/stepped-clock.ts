import { type Clock, systemClock } from "#kit"

/** A clock whose time a test advances, while its sleeps take real time. */
export class SteppedClock implements Clock {
  #now: number
  #monotonic = 0
  readonly sleep = systemClock.sleep

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#monotonic
  }

  advance(ms: number): void {
    this.#now += ms
    this.#monotonic += ms
  }

  /** Sets the system's time, while no time passes. */
  jump(ms: number): void {
    this.#now += ms
  }
}
