import { bounds } from "#contract"
import { Semaphore } from "#kit"

interface PersonProbes {
  semaphore: Semaphore
  users: number
}

/**
 * Limits concurrent probes per person. After a restart hundreds may wait, and silent programs block
 * a probe for seconds.
 */
export class ProbeLimiter {
  readonly #byPerson = new Map<number, PersonProbes>()

  async run<T>(userId: number, work: () => Promise<T>): Promise<T> {
    const probes = this.#byPerson.get(userId) ?? { semaphore: new Semaphore(bounds.containers.probes.value), users: 0 }
    this.#byPerson.set(userId, probes)
    probes.users += 1
    try {
      return await probes.semaphore.run(work)
    } finally {
      probes.users -= 1
      if (probes.users === 0) this.#byPerson.delete(userId)
    }
  }
}
