import { bounds, Failure } from "#contract"
import { abortable, type Clock, deadline, type Logger } from "#kit"
import type { GatewayHost, Target, Visitor } from "./host.ts"

const freshFor = 2_000
/**
 * How long a yes holds while nobody can be asked: as long as a restart of the part that knows may
 * take.
 */
const graceFor = 60_000
const answerWithin = 2_500
/** How long a client may neither send nor take anything while the program waits for it. */
const patience = bounds.gateway.silentMs.value

/** One exchange or tunnel that is open for a visitor at a run. */
export interface Opening {
  /**
   * Since when it has waited for the client to send or to take anything, in milliseconds since the
   * epoch; undefined while it does not.
   */
  readonly waitingSince: number | undefined
  /** Ends it at once, both sides. */
  cut(): void
}

interface Pair {
  readonly visitor: Visitor
  readonly id: number
  readonly key: string
  readonly open: Set<Opening>
  /** When the last yes was asked for. */
  yesAt: number
  asking: Promise<boolean> | undefined
}

export interface OpeningsOptions {
  host: GatewayHost
  clock: Clock
  logger: Logger
  /** Default 4,096. */
  maxPerPair?: number
}

/** Who has what open, and whether they still may. */
export class Openings {
  readonly #host: GatewayHost
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #maxPerPair: number
  readonly #pairs = new Map<string, Pair>()
  #isClosed = false

  constructor({ host, clock, logger, maxPerPair = bounds.gateway.openPerPerson.value }: OpeningsOptions) {
    this.#host = host
    this.#clock = clock
    this.#logger = logger
    this.#maxPerPair = maxPerPair
  }

  /**
   * Whether the visitor may open the run. A yes is at most 2 s old and then answered at once.
   * Rejects with `unavailable` when nobody can tell.
   */
  mayOpen(visitor: Visitor, target: Target): boolean | Promise<boolean> {
    if (visitor.onlyRun !== undefined && visitor.onlyRun !== target.id) return false
    const pair = this.#pair(visitor, target)
    const age = this.#clock.now() - pair.yesAt
    if (age >= 0 && age < freshFor) return true
    return this.#ask(pair).catch((error) => {
      if (this.#clock.now() - pair.yesAt < graceFor) return true
      throw new Failure("unavailable", "Whether you may open this run cannot be told at the moment", {
        cause: error,
        headers: { "Retry-After": "2" },
      })
    })
  }

  /**
   * Notes what is open until the returned function is called. Refused (429) when the visitor has
   * too much open at this run.
   */
  add(visitor: Visitor, target: Target, opening: Opening): () => void {
    if (this.#isClosed) throw new Failure("unavailable", "The gateway is stopping", { headers: { "Retry-After": "2" } })
    const { open } = this.#pair(visitor, target)
    if (open.size >= this.#maxPerPair) {
      throw new Failure("too_many_requests", `At most ${this.#maxPerPair} requests and sockets may be open at one run`, {
        headers: { "Retry-After": "2" },
      })
    }
    open.add(opening)
    return () => open.delete(opening)
  }

  get size(): number {
    let size = 0
    for (const { open } of this.#pairs.values()) size += open.size
    return size
  }

  /**
   * Asks about every pair that has something open, and cuts what may no longer be. Resolves when
   * all have answered.
   */
  async recheck(): Promise<void> {
    await Promise.all([...this.#pairs].map(([id, pair]) => this.#recheck(id, pair)))
  }

  /** Cuts everything, and lets nothing more be opened. */
  close(): void {
    this.#isClosed = true
    for (const pair of this.#pairs.values()) cut(pair.open)
  }

  async #recheck(id: string, pair: Pair): Promise<void> {
    const target = this.#host.byKey(pair.key)
    if (target === undefined || target.id !== pair.id) cut(pair.open)
    const now = this.#clock.now()
    cut([...pair.open].filter(({ waitingSince = now }) => now - waitingSince >= patience))
    if (pair.open.size === 0) {
      if (!pair.asking && this.#clock.now() - pair.yesAt > freshFor) this.#pairs.delete(id)
      return
    }
    await this.#ask(pair).catch((error) =>
      this.#logger.warn({ err: error, run: pair.id }, "whether a visitor may open a run was not answered"),
    )
    if (this.#clock.now() - pair.yesAt >= graceFor) cut(pair.open)
  }

  #ask(pair: Pair): Promise<boolean> {
    pair.asking ??= this.#answer(pair).finally(() => {
      pair.asking = undefined
    })
    return pair.asking
  }

  async #answer(pair: Pair): Promise<boolean> {
    const askedAt = this.#clock.now()
    using limit = deadline(answerWithin, "The answer whether a visitor may open a run")
    const yes = await abortable(this.#host.mayOpen(pair.visitor, pair.id), limit)
    pair.yesAt = yes ? askedAt : Number.NEGATIVE_INFINITY
    if (!yes) cut(pair.open)
    return yes
  }

  #pair(visitor: Visitor, target: Target): Pair {
    const id = `${target.key} ${target.id} ${visitor.userId} ${visitor.onlyRun ?? ""} ${visitor.credentialId}`
    let pair = this.#pairs.get(id)
    if (pair === undefined) {
      pair = { visitor, id: target.id, key: target.key, open: new Set(), yesAt: Number.NEGATIVE_INFINITY, asking: undefined }
      this.#pairs.set(id, pair)
    }
    return pair
  }
}

function cut(open: Iterable<Opening>): void {
  for (const opening of [...open]) opening.cut()
}
