import { bounds } from "#contract"

const turnBytes = bounds.http.turnBytes.value
/** A read costs as much as moving this many bytes, however short it is. */
const readBytes = 8 * 1024
/** Reads in a turn of a connection that is alone in it. */
const maxReadsAlone = 64
/** Connections of one person that continue in each turn. */
const resumedPerTurn = 4

/** The bytes that a person's connections moved in this turn. */
interface Spent {
  bytes: number
  reads: number
  /** The first connection. */
  connection: object
  isAlone: boolean
}

/**
 * Bounds what one person's connections move in one turn of the event loop. A busy connection
 * otherwise moves megabytes in each turn, and a hundred of them delay every request by seconds.
 * Nobody is slowed while the turns are short: the next one follows at once.
 */
export class TurnBudget {
  readonly #spent = new Map<number, Spent>()
  readonly #waiting = new Map<number, (() => void)[]>()
  #isScheduled = false

  /**
   * Counts one read of a connection. False when the person's budget of this turn is used up. The
   * bytes of a connection that is alone in its turn have no limit but Node's own.
   */
  spend(userId: number, bytes: number, connection: object): boolean {
    const spent = this.#spent.get(userId) ?? { bytes: 0, reads: 0, connection, isAlone: true }
    spent.bytes += readBytes + bytes
    spent.reads += 1
    spent.isAlone &&= spent.connection === connection
    this.#spent.set(userId, spent)
    this.#schedule()
    return spent.bytes <= turnBytes || (spent.isAlone && spent.reads <= maxReadsAlone)
  }

  /** Calls the function in a later turn, after those of the person that wait already. */
  wait(userId: number, resume: () => void): void {
    const waiting = this.#waiting.get(userId)
    if (waiting) waiting.push(resume)
    else this.#waiting.set(userId, [resume])
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#startTurn())
  }

  #startTurn(): void {
    this.#isScheduled = false
    this.#spent.clear()
    for (const [userId, waiting] of this.#waiting) {
      for (const resume of waiting.splice(0, resumedPerTurn)) resume()
      if (waiting.length === 0) this.#waiting.delete(userId)
    }
    if (this.#waiting.size > 0) this.#schedule()
  }
}

/** The budget of this process. */
export const sharedTurnBudget = new TurnBudget()

/** The reading of one connection, which its receiver pauses, and its person's budget. */
export class PacedReader {
  readonly #budget: TurnBudget
  readonly #resume: () => void
  #isPaused = false
  #isWaiting = false

  /** `resume` lets the connection read again. */
  constructor(resume: () => void, budget: TurnBudget) {
    this.#resume = resume
    this.#budget = budget
  }

  /** Counts one read. False when the connection must read no more until `resume` is called. */
  countRead(userId: number, bytes: number): boolean {
    if (!this.#budget.spend(userId, bytes, this) && !this.#isWaiting) {
      this.#isWaiting = true
      this.#budget.wait(userId, () => {
        this.#isWaiting = false
        if (!this.#isPaused) this.#resume()
      })
    }
    return !this.#isPaused && !this.#isWaiting
  }

  /** The receiver has no room. To be followed by `countRead`. */
  pause(): void {
    this.#isPaused = true
  }

  /** The receiver has room again. */
  resume(): void {
    this.#isPaused = false
    if (!this.#isWaiting) this.#resume()
  }
}
