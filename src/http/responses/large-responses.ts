import type { ServerResponse } from "node:http"
import { bounds, Failure } from "#contract"
import { Overloaded, Semaphore } from "#kit"

const { largeAnswers, waitingLargeAnswers, largeAnswerMs } = bounds.texts

interface Person {
  semaphore: Semaphore
  /** Responses that are being sent or wait. */
  count: number
}

/**
 * Bounds the large responses that are sent to one person at once: slow readers must not use up the
 * memory. Small responses are not counted.
 */
export class LargeResponses {
  readonly #people = new Map<string, Person>()

  /**
   * Calls `send` in turn, and resolves when it has sent all or its reader has left. Throws a
   * `Failure` (429) if too many wait.
   */
  async run(person: string, response: ServerResponse, send: () => Promise<void>): Promise<void> {
    const of = this.#people.get(person) ?? { semaphore: new Semaphore(largeAnswers.value, waitingLargeAnswers.value), count: 0 }
    this.#people.set(person, of)
    of.count += 1
    try {
      await of.semaphore.run(async () => {
        if (response.destroyed) return
        const late = setTimeout(() => response.destroy(), largeAnswerMs.value)
        await send().finally(() => clearTimeout(late))
      })
    } catch (error) {
      throw error instanceof Overloaded ? tooMany() : error
    } finally {
      of.count -= 1
      if (of.count === 0) this.#people.delete(person)
    }
  }
}

function tooMany(): Failure {
  const sum = largeAnswers.value + waitingLargeAnswers.value
  return new Failure("too_many_requests", `${sum} large answers for you are under way: read these first, or ask for smaller pages`, {
    headers: { "Retry-After": "5" },
  })
}
