import { OverloadedError } from "#kit"
import { TwoGenerationCache } from "../two-generation-cache.ts"

/**
 * The class of a waiting hash: devices that signed in as this name before, addresses without a
 * recent failure, and all others.
 */
export type SourceReputation = "known" | "clean" | "suspect"

export interface HashRequest {
  reputation: SourceReputation
  address: string
  /** One hash of a name runs at a time. Undefined: the hash is not for a name. */
  name: string | undefined
}

interface QueuedHash extends HashRequest {
  admission: PromiseWithResolvers<void>
}

const reputations: readonly SourceReputation[] = ["known", "clean", "suspect"]

/**
 * Limits concurrent hashes and queues the others fairly: by turns between levels of reputation,
 * then by the name and address that were served longest ago. A crowd of one name or one address
 * delays everybody else by about one hash.
 */
export class HashQueue {
  readonly #width: number
  readonly #maxWaiting: Readonly<Record<SourceReputation, number>>
  /** The level that was served longest ago is first. */
  #levels: { reputation: SourceReputation; waiting: QueuedHash[] }[] = reputations.map((reputation) => ({ reputation, waiting: [] }))
  /** When names and addresses were last served, counted in hashes. */
  readonly #served = new TwoGenerationCache<number>(1_000)
  #count = 0
  readonly #names = new Set<string>()
  #running = 0
  #suspects = 0
  #closed: Error | undefined

  constructor(width: number, maxWaiting: Readonly<Record<SourceReputation, number>>) {
    this.#width = width
    this.#maxWaiting = maxWaiting
  }

  /**
   * Rejects with `OverloadedError` when too many of this level wait, and with the reason of
   * `close`.
   */
  async run<T>(request: HashRequest, work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw this.#closed
    if (this.#mayRun(request)) this.#begin(request)
    else await this.#wait(request)
    try {
      return await work()
    } finally {
      this.#end(request)
    }
  }

  /** Rejects all waiting and future hashes with this error. Running hashes continue. */
  close(reason: Error): void {
    this.#closed ??= reason
    for (const { waiting } of this.#levels) for (const { admission } of waiting.splice(0)) admission.reject(this.#closed)
  }

  #wait(request: HashRequest): Promise<void> {
    const waiting = this.#levels.find(({ reputation }) => reputation === request.reputation)?.waiting ?? []
    if (waiting.length >= this.#maxWaiting[request.reputation]) throw new OverloadedError(`${waiting.length} hashes are already waiting`)
    const admission = Promise.withResolvers<void>()
    waiting.push({ ...request, admission })
    return admission.promise
  }

  #mayRun({ reputation, name }: HashRequest): boolean {
    if (this.#running >= this.#width || (reputation === "suspect" && this.#suspects > 0)) return false
    return name === undefined || !this.#names.has(name)
  }

  #begin({ reputation, name, address }: HashRequest): void {
    this.#running += 1
    this.#count += 1
    this.#served.set(`address ${address}`, this.#count)
    if (reputation === "suspect") this.#suspects += 1
    if (name === undefined) return
    this.#names.add(name)
    this.#served.set(`name ${name}`, this.#count)
  }

  #end({ reputation, name }: HashRequest): void {
    this.#running -= 1
    if (reputation === "suspect") this.#suspects -= 1
    if (name !== undefined) this.#names.delete(name)
    for (let next = this.#next(); next; next = this.#next()) {
      this.#begin(next)
      next.admission.resolve()
    }
  }

  #next(): QueuedHash | undefined {
    for (const each of this.#levels) {
      const { waiting } = each
      const fitting = waiting.filter((one) => this.#mayRun(one)).map((one) => ({ one, ...this.#lastServed(one) }))
      const [next] = fitting.sort((a, b) => a.later - b.later || a.earlier - b.earlier)
      if (!next) continue
      waiting.splice(waiting.indexOf(next.one), 1)
      this.#levels = [...this.#levels.filter((other) => other !== each), each]
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
