import { Failure } from "#contract"
import { OverloadedError, Semaphore } from "#kit"

export interface PersonLimiterOptions {
  maxRunning: number
  /** Further requests are rejected. */
  maxWaiting: number
  /** The message of the rejection, by the number of requests that run and wait. */
  message: (count: number) => string
}

/** Limits the work of one kind that is in progress for one person. */
export class PersonLimiter<Person = number> {
  readonly #limits: PersonLimiterOptions
  readonly #people = new Map<Person, { semaphore: Semaphore; count: number }>()

  constructor(limits: PersonLimiterOptions) {
    this.#limits = limits
  }

  /** Throws a `Failure` (429) if too much work of the person is in progress. */
  async run<T>(person: Person, work: () => Promise<T>): Promise<T> {
    const { maxRunning, maxWaiting } = this.#limits
    const active = this.#people.get(person) ?? { semaphore: new Semaphore(maxRunning, maxWaiting), count: 0 }
    this.#people.set(person, active)
    active.count += 1
    try {
      return await active.semaphore.run(work)
    } catch (error) {
      throw error instanceof OverloadedError ? this.#rejection() : error
    } finally {
      active.count -= 1
      if (active.count === 0) this.#people.delete(person)
    }
  }

  #rejection(): Failure {
    const { maxRunning, maxWaiting, message } = this.#limits
    return new Failure("too_many_requests", message(maxRunning + maxWaiting), { headers: { "Retry-After": "5" } })
  }
}
