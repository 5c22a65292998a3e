import { bounds, Failure } from "#contract"

/**
 * Concurrent requests of one person. Another one is rejected rather than queued: it would occupy a
 * connection and a body.
 */
const maxRequests = bounds.files.requestsAtOnce.value
/** A `Depth: infinity` listing reads each entry twice. */
const maxDeepListings = bounds.files.deepListingsAtOnce.value

/** Limits the concurrent requests of each person. */
export class RequestLimiter {
  readonly #running = new Map<string, number>()

  acquire(userId: number, kind: "any" | "deep" = "any"): Disposable {
    const key = `${kind} ${userId}`
    const running = this.#running.get(key) ?? 0
    if (running >= (kind === "deep" ? maxDeepListings : maxRequests)) throw tooManyRequests()
    this.#running.set(key, running + 1)
    return { [Symbol.dispose]: () => this.#release(key) }
  }

  #release(key: string): void {
    const left = (this.#running.get(key) ?? 1) - 1
    if (left === 0) this.#running.delete(key)
    else this.#running.set(key, left)
  }
}

const maxCopies = bounds.files.copiesAtOnce.value

/** Limits the concurrent copies of each person; others wait. */
export class CopyQueue {
  readonly #running = new Map<number, number>()
  readonly #waiting = new Map<number, (() => void)[]>()

  async acquire(userId: number): Promise<Disposable> {
    const running = this.#running.get(userId) ?? 0
    if (running < maxCopies) this.#running.set(userId, running + 1)
    else await new Promise<void>((resolve) => this.#waiting.set(userId, [...(this.#waiting.get(userId) ?? []), resolve]))
    return { [Symbol.dispose]: () => this.#release(userId) }
  }

  /** The next waiting copy takes over the slot. */
  #release(userId: number): void {
    const [next, ...others] = this.#waiting.get(userId) ?? []
    if (others.length > 0) this.#waiting.set(userId, others)
    else this.#waiting.delete(userId)
    if (next) {
      next()
      return
    }
    const left = (this.#running.get(userId) ?? 1) - 1
    if (left === 0) this.#running.delete(userId)
    else this.#running.set(userId, left)
  }
}

const tooManyRequests = (): Failure =>
  new Failure("too_many_requests", "You have too many requests under way; try again when some have ended", {
    headers: { "Retry-After": "1" },
  })
