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

/** Limits the concurrent copies of each person, by ID or by name; others wait. */
export class CopyQueue<Person extends number | string = number> {
  /** The copies under way, and those that wait. */
  readonly #people = new Map<Person, { running: number; waiting: Set<() => void> }>()

  async acquire(person: Person): Promise<Disposable> {
    const copies = this.#people.get(person) ?? { running: 0, waiting: new Set() }
    this.#people.set(person, copies)
    if (copies.running < maxCopies) copies.running += 1
    else await new Promise<void>((resolve) => copies.waiting.add(resolve))
    return { [Symbol.dispose]: () => this.#release(person) }
  }

  /** The next waiting copy takes over the slot. */
  #release(person: Person): void {
    const copies = this.#people.get(person)
    if (!copies) return
    const [next] = copies.waiting
    if (next) {
      copies.waiting.delete(next)
      next()
      return
    }
    copies.running -= 1
    if (copies.running === 0) this.#people.delete(person)
  }
}

const tooManyRequests = (): Failure =>
  new Failure("too_many_requests", "You have too many requests under way; try again when some have ended", {
    headers: { "Retry-After": "1" },
  })
