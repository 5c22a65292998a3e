import { bounds, Failure } from "#contract"
import { Overloaded, Semaphore } from "#kit"
import type { Session, Value } from "./driver.ts"
import type { Query } from "./sql/catalog.ts"

const { scans, waitingScans } = bounds.texts

/** Reads that look at many rows: few at once for each person, so that nobody's searches keep others from theirs. */
export class ScanTurns {
  readonly #session: Session
  readonly #people = new Map<number, { semaphore: Semaphore; count: number }>()

  constructor(session: Session) {
    this.#session = session
  }

  of(userId: number): Session {
    const session = this.#session
    return {
      all: (query, args) => this.#run(userId, () => session.all(query, args)),
      first: <A extends object>(query: Query<A>, args: A): Promise<Value[] | undefined> =>
        this.#run(userId, () => session.first(query, args)),
      run: (query, args) => session.run(query, args),
    }
  }

  async #run<T>(userId: number, work: () => Promise<T>): Promise<T> {
    const person = this.#people.get(userId) ?? { semaphore: new Semaphore(scans.value, waitingScans.value), count: 0 }
    this.#people.set(userId, person)
    person.count += 1
    try {
      return await person.semaphore.run(work)
    } catch (error) {
      throw error instanceof Overloaded ? tooMany() : error
    } finally {
      person.count -= 1
      if (person.count === 0) this.#people.delete(userId)
    }
  }
}

function tooMany(): Failure {
  const sum = scans.value + waitingScans.value
  return new Failure("too_many_requests", `${sum} searches of yours are under way: wait for their answers`, {
    headers: { "Retry-After": "1" },
  })
}
