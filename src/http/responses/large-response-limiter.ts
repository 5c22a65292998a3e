import type { ServerResponse } from "node:http"
import { bounds } from "#contract"
import { PersonLimiter } from "./person-limiter.ts"

const { largeAnswers, waitingLargeAnswers, largeAnswerMs } = bounds.texts

/**
 * Bounds the large responses that are sent to one person at once: slow readers must not use up the
 * memory. Small responses are not counted.
 */
export class LargeResponseLimiter {
  readonly #limiter = new PersonLimiter<string>({
    maxRunning: largeAnswers.value,
    maxWaiting: waitingLargeAnswers.value,
    message: (count) => `${count} large answers for you are under way: read these first, or ask for smaller pages`,
  })

  /**
   * Calls `send` in turn, and resolves when it has sent all or its reader has left. Throws a
   * `Failure` (429) if too many wait.
   */
  run(person: string, response: ServerResponse, send: () => Promise<void>): Promise<void> {
    return this.#limiter.run(person, async () => {
      if (response.destroyed) return
      const late = setTimeout(() => response.destroy(), largeAnswerMs.value)
      await send().finally(() => clearTimeout(late))
    })
  }
}
