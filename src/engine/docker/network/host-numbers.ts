/** The first two addresses are the network's and the gateway's; the last is for broadcast. */
const firstHost = 2

/**
 * Chooses the host number of a run on its network: at random among unused numbers, then the one
 * released first. So the address of a removed run leads nowhere for as long as possible.
 */
export class HostNumberPool {
  /** Numbers in the order of their release or last use, oldest first. */
  readonly #used = new Set<number>()
  readonly #leased = new Set<number>()
  #inUse: ReadonlySet<number> = new Set()
  /** Numbers of containers that started after the last snapshot, with that snapshot's number. */
  readonly #confirmed = new Map<number, number>()
  readonly #lastHost: number

  /** `size` is the number of addresses, including the three that no container gets. */
  constructor(size = 32) {
    this.#lastHost = size - 2
  }

  /** Leases a number until `release` or `confirm`; undefined if all are in use. */
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

  /** Marks a number as used by a container, which snapshots up to this one may not contain. */
  confirm(host: number, snapshot: number): void {
    this.release(host)
    this.#confirmed.set(host, snapshot)
  }

  /** Records the numbers that containers had in a snapshot. */
  updateInUse(hosts: ReadonlySet<number>, snapshot = Number.POSITIVE_INFINITY): void {
    this.#inUse = hosts
    for (const [host, since] of this.#confirmed) if (since < snapshot) this.#confirmed.delete(host)
    for (const host of hosts) this.#use(host)
  }

  /** Marks a number as used by an unknown container. */
  markTaken(host: number): void {
    this.#inUse = new Set([...this.#inUse, host])
  }

  #isFree(host: number): boolean {
    return !this.#leased.has(host) && !this.#inUse.has(host) && !this.#confirmed.has(host)
  }

  #use(host: number): void {
    this.#used.delete(host)
    this.#used.add(host)
  }
}
