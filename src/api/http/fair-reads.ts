import type { OperationId } from "#contract"
import type { PersonLimiter } from "#http"
import { TurnShares } from "#kit"
import { readAsPerson } from "#store"
import type { Lane } from "../lane.ts"

/** They also wait for the engine, with limits of their own, and must not hold up other reads. */
const askEngine: ReadonlySet<string> = new Set<OperationId>(["checkImage", "readCapacity", "runStats"])

/**
 * Answers one person's reads a few at a time, and in a part of each turn of the event loop. The
 * person may send hundreds at once, and everybody else would wait until all of them are answered.
 */
export class FairReads {
  readonly #limiter: PersonLimiter<Lane>
  readonly #shares = new TurnShares()

  constructor(limiter: PersonLimiter<Lane>) {
    this.#limiter = limiter
  }

  /**
   * `name` is that of an operation or of a page. The reads of a lane are answered a few at a time.
   */
  run<T>(userId: number, name: string, answer: () => T | Promise<T>, lane: Lane = userId): Promise<T> {
    const work = () => this.#inTurn(userId, answer, lane)
    return askEngine.has(name) ? work() : this.#limiter.run(lane, work)
  }

  /** Answers a request that changes something, in the same part of each turn. */
  runWrite<T>(userId: number, answer: () => T | Promise<T>, lane: Lane = userId): Promise<T> {
    return this.#inTurn(userId, answer, lane)
  }

  /** Lanes of credentials read apart from the person's others, but with each other. */
  #inTurn<T>(userId: number, answer: () => T | Promise<T>, lane: Lane): Promise<T> {
    const kind = lane === userId ? undefined : "credentials"
    return this.#shares.run(userId, () => readAsPerson(userId, answer, kind))
  }
}
