/** The network's own address and the gateway's come first, the one for all last. */
const firstHost = 2

/**
 * Which number on a network a run gets: one that was never given away, by chance, or the one that
 * was given back first. So whoever still holds the address of a run that is gone reaches nobody
 * there for as long as there are others to give away.
 */
export class HostNumberPool {
  /** Oldest first: when each was given back, or last seen in use. */
  readonly #used = new Set<number>()
  readonly #leased = new Set<number>()
  #busy: ReadonlySet<number> = new Set()
  /** Of containers that began after the last look, with the number of that look. */
  readonly #confirmed = new Map<number, number>()
  readonly #lastHost: number

  /** `size` is how many addresses the network has, with the three that no container gets. */
  constructor(size = 32) {
    this.#lastHost = size - 2
  }

  /** Undefined when all are in use. Until it is given back nobody else gets it. */
  lease(random: () => number = Math.random): number | undefined {
    const fresh: number[] = []
    for (let host = firstHost; host <= this.#lastHost; host += 1) {
      if (!this.#used.has(host) && this.#isFree(host)) fresh.push(host)
    }
    const host = fresh[Math.floor(random() * fresh.length)] ?? [...this.#used].find((each) => this.#isFree(each))
    if (host !== undefined) this.#leased.add(host)
    return host
  }

  release(host: number): void {
    this.#leased.delete(host)
    this.#use(host)
  }

  /** A container has it now, which looks that began up to this one may not have seen. */
  confirm(host: number, snapshot: number): void {
    this.release(host)
    this.#confirmed.set(host, snapshot)
  }

  /** Those that containers had at a look. */
  updateInUse(hosts: ReadonlySet<number>, snapshot = Number.POSITIVE_INFINITY): void {
    this.#busy = hosts
    for (const [host, since] of this.#confirmed) if (since < snapshot) this.#confirmed.delete(host)
    for (const host of hosts) this.#use(host)
  }

  /** Somebody else has it, who has not been seen yet. */
  markTaken(host: number): void {
    this.#busy = new Set([...this.#busy, host])
  }

  #isFree(host: number): boolean {
    return !this.#leased.has(host) && !this.#busy.has(host) && !this.#confirmed.has(host)
  }

  #use(host: number): void {
    this.#used.delete(host)
    this.#used.add(host)
  }
}
