import { Failure } from "#contract"
import { Overloaded, Semaphore } from "#kit"

export interface PersonLimits {
  maxRunning: number
  /** Further ones are refused. */
  maxWaiting: number
  /** What a person has too many of. */
  words: string
}

/** Limits the work of one kind that is in progress for one person. */
export class PersonLimiter {
  readonly #limits: PersonLimits
  readonly #people = new Map<number, { semaphore: Semaphore; count: number }>()

  constructor(limits: PersonLimits) {
    this.#limits = limits
  }

  /** Throws a `Failure` (429) if too much work of the person is in progress. */
  async run<T>(userId: number, work: () => Promise<T>): Promise<T> {
    const { maxRunning, maxWaiting } = this.#limits
    const person = this.#people.get(userId) ?? { semaphore: new Semaphore(maxRunning, maxWaiting), count: 0 }
    this.#people.set(userId, person)
    person.count += 1
    try {
      return await person.semaphore.run(work)
    } catch (error) {
      throw error instanceof Overloaded ? this.#refusal() : error
    } finally {
      person.count -= 1
      if (person.count === 0) this.#people.delete(userId)
    }
  }

  #refusal(): Failure {
    const { maxRunning, maxWaiting, words } = this.#limits
    return new Failure("too_many_requests", `${maxRunning + maxWaiting} ${words} of yours are open already; wait until one ends`, {
      headers: { "Retry-After": "5" },
    })
  }
}
