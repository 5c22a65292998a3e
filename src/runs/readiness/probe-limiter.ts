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
  readonly #turns = new Map<number, PersonProbes>()

  async run<T>(userId: number, work: () => Promise<T>): Promise<T> {
    const turns = this.#turns.get(userId) ?? { semaphore: new Semaphore(bounds.containers.probes.value), users: 0 }
    this.#turns.set(userId, turns)
    turns.users += 1
    try {
      return await turns.semaphore.run(work)
    } finally {
      turns.users -= 1
      if (turns.users === 0) this.#turns.delete(userId)
    }
  }
}
