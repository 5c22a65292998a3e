import { bounds } from "#contract"

const turnBytes = bounds.http.turnBytes.value
/** A read costs as much as moving this many bytes, however short it is. */
const readBytes = 8 * 1024
/** Some bytes cost a hundred times as much as others, such as the frames of tiny chunks. */
const turnMs = bounds.http.turnMs.value
/** Reads in a turn of a connection that is alone in it. */
const maxReadsAlone = 64
/** Connections of one person that continue in each turn, and after one in which time ran out. */
const resumedPerTurn = 4
const resumedAfterSlowTurn = 1

/** The ID of a person, or the address of somebody whom no credential has named. */
export type TurnOwner = number | string

/** The bytes that a person's connections moved in this turn. */
interface Spent {
  bytes: number
  reads: number
  /** When the first read was counted. */
  since: number
  /** The first connection. */
  connection: object
  isAlone: boolean
  /** Whether the time ran out. */
  isSlow: boolean
  /** Whether the person's other connections read no more in this turn. */
  isHeldBack: boolean
}

/**
 * Bounds what one person's connections move in one turn of the event loop. A busy connection
 * otherwise moves megabytes in each turn, and a hundred of them delay every request by seconds.
 * Nobody is slowed while the turns are short: the next one follows at once.
 */
export class TurnBudget {
  #spent = new Map<TurnOwner, Spent>()
  readonly #waiting = new Map<TurnOwner, (() => void)[]>()
  /** The readers of each person that can be held back before they read. */
  readonly #readers = new Map<TurnOwner, Set<PacedReader>>()
  readonly #now: () => number
  #isScheduled = false

  /** `now`: in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /**
   * Counts one read of a connection. False when the person's budget of this turn is used up. The
   * bytes of a connection that is alone in its turn have no limit but Node's own.
   */
  spend(owner: TurnOwner, bytes: number, connection: object): boolean {
    const now = this.#now()
    const spent = this.#spent.get(owner) ?? { bytes: 0, reads: 0, since: now, connection, isAlone: true, isSlow: false, isHeldBack: false }
    spent.bytes += readBytes + bytes
    spent.reads += 1
    spent.isAlone &&= spent.connection === connection
    this.#spent.set(owner, spent)
    this.#schedule()
    spent.isSlow ||= now - spent.since >= turnMs
    if (spent.isSlow && !spent.isAlone && !spent.isHeldBack) {
      spent.isHeldBack = true
      for (const reader of this.#readers.get(owner) ?? []) reader.holdBack(owner)
    }
    if (spent.isSlow) return false
    return spent.bytes <= turnBytes || (spent.isAlone && spent.reads <= maxReadsAlone)
  }

  /** Calls the function in a later turn, after those of the person that wait already. */
  resumeLater(owner: TurnOwner, resume: () => void): void {
    const waiting = this.#waiting.get(owner)
    if (waiting) waiting.push(resume)
    else this.#waiting.set(owner, [resume])
    this.#schedule()
  }

  join(owner: TurnOwner, reader: PacedReader): void {
    const readers = this.#readers.get(owner) ?? new Set()
    this.#readers.set(owner, readers.add(reader))
  }

  leave(owner: TurnOwner, reader: PacedReader): void {
    const readers = this.#readers.get(owner)
    if (readers?.delete(reader) && readers.size === 0) this.#readers.delete(owner)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#startTurn())
  }

  #startTurn(): void {
    this.#isScheduled = false
    const ended = this.#spent
    this.#spent = new Map()
    for (const [owner, waiting] of this.#waiting) {
      const count = ended.get(owner)?.isSlow ? resumedAfterSlowTurn : resumedPerTurn
      for (const resume of waiting.splice(0, count)) resume()
      if (waiting.length === 0) this.#waiting.delete(owner)
    }
    if (this.#waiting.size > 0) this.#schedule()
  }
}

/** The budget of this process. */
export const sharedTurnBudget = new TurnBudget()

/**
 * Counts data that somebody's program sends. Resolves when the next may be read: hundreds of
 * programs of one person, each as fast as it can, must not delay everybody's requests.
 */
export async function waitForTurn(owner: TurnOwner, data: { readonly length: number }, source: object): Promise<void> {
  if (sharedTurnBudget.spend(owner, data.length, source)) return
  await new Promise<void>((resolve) => sharedTurnBudget.resumeLater(owner, resolve))
}

/** The reading of one connection, which its receiver pauses, and its person's budget. */
export class PacedReader {
  readonly #budget: TurnBudget
  readonly #resume: () => void
  readonly #stop: (() => void) | undefined
  #isPaused = false
  #isWaiting = false
  #member: TurnOwner | undefined

  /**
   * `resume` lets the connection read again. `stop` lets it read no more; without it, each
   * connection of a person may read once in a turn whose time has run out.
   */
  constructor(resume: () => void, budget: TurnBudget, stop?: () => void) {
    this.#resume = resume
    this.#budget = budget
    this.#stop = stop
  }

  /**
   * Until `leave`, the connection reads for this person, and stops before it has read if the
   * person's time in a turn has run out: thousands may have data ready in the same turn.
   */
  join(owner: TurnOwner): void {
    if (this.#member === owner) return
    this.leave()
    this.#member = owner
    this.#budget.join(owner, this)
  }

  leave(): void {
    if (this.#member !== undefined) this.#budget.leave(this.#member, this)
    this.#member = undefined
  }

  holdBack(owner: TurnOwner): void {
    if (this.#isWaiting) return
    this.#stop?.()
    this.#wait(owner)
  }

  /** Counts one read. False when the connection must read no more until `resume` is called. */
  countRead(owner: TurnOwner, bytes: number): boolean {
    if (!this.#budget.spend(owner, bytes, this) && !this.#isWaiting) this.#wait(owner)
    return !this.#isPaused && !this.#isWaiting
  }

  #wait(owner: TurnOwner): void {
    this.#isWaiting = true
    this.#budget.resumeLater(owner, () => {
      this.#isWaiting = false
      if (!this.#isPaused) this.#resume()
    })
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
