import { Overloaded } from "#kit"
import { TwoGenerationCache } from "../two-generation-cache.ts"

/**
 * In which row somebody waits: devices that signed in as this name before, addresses that have not
 * failed lately, and all others.
 */
export type Lane = "known" | "clean" | "suspect"

export interface HashRequest {
  lane: Lane
  address: string
  /** Of one name one hash runs at a time. Undefined: it is not for a name. */
  name: string | undefined
}

interface QueuedHash extends HashRequest {
  turn: PromiseWithResolvers<void>
}

const lanes: readonly Lane[] = ["known", "clean", "suspect"]

/**
 * Lets few hashes run at once, and has the others take turns: first between lanes, then whoever's
 * name and address were served longest ago. However many wait for one name or come from one
 * address, somebody else waits for about one of them.
 */
export class HashQueue {
  readonly #width: number
  readonly #maxWaiting: Readonly<Record<Lane, number>>
  /** The lane that was served longest ago comes first. */
  #lanes: { lane: Lane; waiting: QueuedHash[] }[] = lanes.map((lane) => ({ lane, waiting: [] }))
  /** When names and addresses were served, counted in hashes. */
  readonly #served = new TwoGenerationCache<number>(1_000)
  #count = 0
  readonly #names = new Set<string>()
  #running = 0
  #suspects = 0
  #closed: Error | undefined

  constructor(width: number, maxWaiting: Readonly<Record<Lane, number>>) {
    this.#width = width
    this.#maxWaiting = maxWaiting
  }

  /** Rejects with `Overloaded` when too many wait in the lane, and with the reason of `close`. */
  async run<T>(place: HashRequest, work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw this.#closed
    if (this.#mayRun(place)) this.#begin(place)
    else await this.#wait(place)
    try {
      return await work()
    } finally {
      this.#end(place)
    }
  }

  /** Rejects whoever waits, and from now on everybody, with this error. What runs goes on. */
  close(reason: Error): void {
    this.#closed ??= reason
    for (const { waiting } of this.#lanes) for (const { turn } of waiting.splice(0)) turn.reject(this.#closed)
  }

  #wait(place: HashRequest): Promise<void> {
    const waiting = this.#lanes.find(({ lane }) => lane === place.lane)?.waiting ?? []
    if (waiting.length >= this.#maxWaiting[place.lane]) throw new Overloaded(`${waiting.length} are waiting already`)
    const turn = Promise.withResolvers<void>()
    waiting.push({ ...place, turn })
    return turn.promise
  }

  #mayRun({ lane, name }: HashRequest): boolean {
    if (this.#running >= this.#width || (lane === "suspect" && this.#suspects > 0)) return false
    return name === undefined || !this.#names.has(name)
  }

  #begin({ lane, name, address }: HashRequest): void {
    this.#running += 1
    this.#count += 1
    this.#served.set(`address ${address}`, this.#count)
    if (lane === "suspect") this.#suspects += 1
    if (name === undefined) return
    this.#names.add(name)
    this.#served.set(`name ${name}`, this.#count)
  }

  #end({ lane, name }: HashRequest): void {
    this.#running -= 1
    if (lane === "suspect") this.#suspects -= 1
    if (name !== undefined) this.#names.delete(name)
    for (let next = this.#next(); next; next = this.#next()) {
      this.#begin(next)
      next.turn.resolve()
    }
  }

  #next(): QueuedHash | undefined {
    for (const each of this.#lanes) {
      const { waiting } = each
      const fitting = waiting.filter((one) => this.#mayRun(one)).map((one) => ({ one, ...this.#lastServed(one) }))
      const [next] = fitting.sort((a, b) => a.later - b.later || a.earlier - b.earlier)
      if (!next) continue
      waiting.splice(waiting.indexOf(next.one), 1)
      this.#lanes = [...this.#lanes.filter((other) => other !== each), each]
      return next.one
    }
    return undefined
  }

  #lastServed({ address, name }: HashRequest): { later: number; earlier: number } {
    const byAddress = this.#served.get(`address ${address}`) ?? 0
    const byName = this.#served.get(`name ${name ?? ""}`) ?? 0
    return { later: Math.max(byAddress, byName), earlier: Math.min(byAddress, byName) }
  }
}
