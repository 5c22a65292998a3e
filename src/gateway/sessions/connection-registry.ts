import { bounds, Failure } from "#contract"
import { abortable, type Clock, deadline, type Logger, Yielder } from "#kit"
import type { RunDirectory, RunTarget, Visitor } from "../run-directory.ts"

const maxAnswerAgeMs = 2_000
/**
 * How long a positive answer is valid while the run directory does not answer: as long as its
 * restart may take.
 */
const graceMs = 60_000
const answerTimeoutMs = 2_500
/** How long a client may neither send nor read anything while the program waits for it. */
const stallTimeoutMs = bounds.gateway.silentMs.value

/** One forwarded request or tunnel that is open for a visitor at a run. */
export interface OpenConnection {
  /**
   * The start of the client's inactivity, in milliseconds since the epoch; undefined while it sends
   * or reads.
   */
  readonly stalledSince: number | undefined
  /** Closes both sides at once. */
  abort(): void
}

interface Pair {
  readonly visitor: Visitor
  readonly id: number
  readonly key: string
  readonly open: Set<OpenConnection>
  /** The time of the last check that was positive. */
  allowedAt: number
  pendingCheck: Promise<boolean> | undefined
}

export interface ConnectionRegistryOptions {
  runs: RunDirectory
  clock: Clock
  logger: Logger
  /** Default 4,096. */
  maxPerPair?: number
  /** Default 512. */
  maxWaiting?: number
}

/** Knows every open connection, and closes those whose visitor lost the right to the run. */
export class ConnectionRegistry {
  readonly #runs: RunDirectory
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #maxPerPair: number
  readonly #maxWaiting: number
  /** By person and side: connections with bytes in memory for it, the longest first. */
  readonly #waiting = new Map<string, Set<OpenConnection>>()
  readonly #pairs = new Map<string, Pair>()
  #isClosed = false

  constructor({ runs, clock, logger, maxPerPair, maxWaiting }: ConnectionRegistryOptions) {
    this.#runs = runs
    this.#clock = clock
    this.#logger = logger
    this.#maxPerPair = maxPerPair ?? bounds.gateway.openPerPerson.value
    this.#maxWaiting = maxWaiting ?? bounds.gateway.waitingPerPerson.value
  }

  /**
   * Whether the visitor may open the run. A positive answer is cached for 2 s. Rejects with
   * `unavailable` when the answer cannot be found out.
   */
  canOpen(visitor: Visitor, target: RunTarget): boolean | Promise<boolean> {
    if (visitor.scopedRunId !== undefined && visitor.scopedRunId !== target.id) return false
    const pair = this.#pair(visitor, target)
    const ageMs = this.#clock.now() - pair.allowedAt
    if (ageMs >= 0 && ageMs < maxAnswerAgeMs) return true
    return this.#ask(pair).catch((error) => {
      if (this.#clock.now() - pair.allowedAt < graceMs) return true
      throw new Failure("unavailable", "Whether you may open this run cannot be checked at the moment", {
        cause: error,
        headers: { "Retry-After": "2" },
      })
    })
  }

  /**
   * Registers a connection until the returned function is called. Throws a 429 when the visitor has
   * too many at this run.
   */
  add(visitor: Visitor, target: RunTarget, opening: OpenConnection): () => void {
    if (this.#isClosed) throw new Failure("unavailable", "The gateway is stopping", { headers: { "Retry-After": "2" } })
    const { open } = this.#pair(visitor, target)
    if (open.size >= this.#maxPerPair) {
      throw new Failure("too_many_requests", `At most ${this.#maxPerPair} requests and sockets may be open at one run`, {
        headers: { "Retry-After": "2" },
      })
    }
    open.add(opening)
    return () => {
      open.delete(opening)
      for (const side of ["client", "program"] as const) this.setWaiting(visitor, opening, { side, isWaiting: false })
    }
  }

  /**
   * Records whether bytes wait in memory until a side of the connection reads. Beyond the maximum
   * of a person, the connection that waits longest is closed.
   */
  setWaiting({ userId }: Visitor, opening: OpenConnection, { side, isWaiting }: { side: "client" | "program"; isWaiting: boolean }): void {
    const key = `${userId} ${side}`
    const waiting = this.#waiting.get(key) ?? new Set()
    if (isWaiting) this.#waiting.set(key, waiting.add(opening))
    else if (waiting.delete(opening) && waiting.size === 0) this.#waiting.delete(key)
    if (waiting.size > this.#maxWaiting) waiting.values().next().value?.abort()
  }

  get size(): number {
    let size = 0
    for (const { open } of this.#pairs.values()) size += open.size
    return size
  }

  /**
   * Rechecks every pair with open connections, and closes those that lost the right. Resolves when
   * all are rechecked. One person may have thousands of pairs, so others are served in between.
   */
  async recheck(): Promise<void> {
    const yielder = new Yielder()
    const checks: Promise<void>[] = []
    for (const [id, pair] of [...this.#pairs]) {
      const check = this.#recheck(id, pair)
      check.catch(() => {})
      checks.push(check)
      await yielder.pause()
    }
    await Promise.all(checks)
  }

  /** Closes all connections and accepts no more. */
  close(): void {
    this.#isClosed = true
    for (const pair of this.#pairs.values()) cut(pair.open)
  }

  async #recheck(id: string, pair: Pair): Promise<void> {
    const target = this.#runs.byKey(pair.key)
    if (target === undefined || target.id !== pair.id) cut(pair.open)
    const now = this.#clock.now()
    cut([...pair.open].filter(({ stalledSince = now }) => now - stalledSince >= stallTimeoutMs))
    if (pair.open.size === 0) {
      if (!pair.pendingCheck && this.#clock.now() - pair.allowedAt > maxAnswerAgeMs) this.#pairs.delete(id)
      return
    }
    await this.#ask(pair).catch((error) =>
      this.#logger.warn({ err: error, run: pair.id }, "could not check whether a visitor may open a run"),
    )
    if (this.#clock.now() - pair.allowedAt >= graceMs) cut(pair.open)
  }

  #ask(pair: Pair): Promise<boolean> {
    pair.pendingCheck ??= this.#answer(pair).finally(() => {
      pair.pendingCheck = undefined
    })
    return pair.pendingCheck
  }

  async #answer(pair: Pair): Promise<boolean> {
    const askedAt = this.#clock.now()
    using limit = deadline(answerTimeoutMs, "The answer whether a visitor may open a run")
    const yes = await abortable(this.#runs.canOpen(pair.visitor, pair.id), limit)
    pair.allowedAt = yes ? askedAt : Number.NEGATIVE_INFINITY
    if (!yes) cut(pair.open)
    return yes
  }

  #pair(visitor: Visitor, target: RunTarget): Pair {
    const id = `${target.key} ${target.id} ${visitor.userId} ${visitor.scopedRunId ?? ""} ${visitor.credentialId}`
    let pair = this.#pairs.get(id)
    if (pair === undefined) {
      pair = { visitor, id: target.id, key: target.key, open: new Set(), allowedAt: Number.NEGATIVE_INFINITY, pendingCheck: undefined }
      this.#pairs.set(id, pair)
    }
    return pair
  }
}

function cut(open: Iterable<OpenConnection>): void {
  for (const opening of [...open]) opening.abort()
}
