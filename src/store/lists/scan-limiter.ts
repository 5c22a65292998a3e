import { bounds, Failure } from "#contract"
import { OverloadedError, Semaphore } from "#kit"
import type { QueryRunner, UserScans } from "../driver.ts"
import type { Query } from "../queries/query.ts"
import type { ColumnValue } from "../values.ts"

const { scans, waitingScans } = bounds.texts

/**
 * Limits concurrent scans per person, so that one person's searches do not block other people's.
 */
export class ScanLimiter {
  readonly #people = new Map<number, { semaphore: Semaphore; count: number }>()

  /** Throws a `Failure` (429) if too many scans of the person are pending. */
  async run<T>(userId: number, work: () => Promise<T>): Promise<T> {
    const person = this.#people.get(userId) ?? { semaphore: new Semaphore(scans.value, waitingScans.value), count: 0 }
    this.#people.set(userId, person)
    person.count += 1
    try {
      return await person.semaphore.run(work)
    } catch (error) {
      throw error instanceof OverloadedError ? tooMany() : error
    } finally {
      person.count -= 1
      if (person.count === 0) this.#people.delete(userId)
    }
  }
}

/** Scans of one query runner, limited per person. */
export class LimitedScans implements UserScans {
  readonly #runner: QueryRunner
  readonly #scans = new ScanLimiter()

  constructor(runner: QueryRunner) {
    this.#runner = runner
  }

  forUser(userId: number): QueryRunner {
    const runner = this.#runner
    return {
      all: (query, args) => this.#scans.run(userId, () => runner.all(query, args)),
      first: <A extends object>(query: Query<A>, args: A): Promise<ColumnValue[] | undefined> =>
        this.#scans.run(userId, () => runner.first(query, args)),
      run: (query, args) => runner.run(query, args),
    }
  }
}

function tooMany(): Failure {
  const sum = scans.value + waitingScans.value
  return new Failure("too_many_requests", `${sum} searches of yours are under way: wait for their answers`, {
    headers: { "Retry-After": "1" },
  })
}
