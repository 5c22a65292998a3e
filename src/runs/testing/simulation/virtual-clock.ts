import type { Clock } from "#kit"

interface Sleeper {
  at: number
  owner: object
  wake(): void
}

/** A clock that moves only by `advance`. Each process sleeps by a clock of its own on it. */
export class VirtualClock implements Clock {
  readonly #start = Date.UTC(2026, 0, 1)
  #now = this.#start
  readonly #sleepers = new Set<Sleeper>()

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  /** Milliseconds since the clock began. */
  get elapsed(): number {
    return this.#now - this.#start
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#sleep(this, ms, signal)
  }

  /** A view of this clock whose sleeps `forget` can end. */
  of(owner: object): Clock {
    const now = () => this.#now
    return { now, monotonic: now, sleep: (ms, signal) => this.#sleep(owner, ms, signal) }
  }

  /** Drops the owner's sleeps, which then never settle. */
  forget(owner: object): void {
    for (const sleeper of this.#sleepers) if (sleeper.owner === owner) this.#sleepers.delete(sleeper)
  }

  /** Milliseconds until the next sleep is over; 0 without any. */
  get untilNext(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { at } of this.#sleepers) next = Math.min(next, at)
    return Number.isFinite(next) ? Math.max(0, next - this.#now) : 0
  }

  /** Moves time forward at once, as when a machine was suspended, and wakes who is due in order. */
  advance(ms: number): void {
    this.#now += ms
    const due = [...this.#sleepers].filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at)
    for (const sleeper of due) if (this.#sleepers.delete(sleeper)) sleeper.wake()
  }

  #sleep(owner: object, ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        if (this.#sleepers.delete(sleeper)) reject(signal?.reason)
      }
      const wake = () => {
        signal?.removeEventListener("abort", onAbort)
        resolve()
      }
      const sleeper = { at: this.#now + ms, owner, wake }
      this.#sleepers.add(sleeper)
      signal?.addEventListener("abort", onAbort, { once: true })
    })
  }
}
