/** The network's own address and the gateway's come first, the one for all last. */
const [firstHost, lastHost] = [2, 30]

/**
 * Which number on a network a run gets: one that was never given away, by chance, or the one that was given back first. So whoever still holds the address of a run that is gone
 * reaches nobody there for as long as there are others to give away.
 */
export class HostNumbers {
  /** Oldest first: when each was given back, or last seen in use. */
  readonly #used = new Set<number>()
  readonly #held = new Set<number>()
  #busy: ReadonlySet<number> = new Set()

  /** Undefined when all are in use. Until it is given back nobody else gets it. */
  take(random: () => number = Math.random): number | undefined {
    const fresh: number[] = []
    for (let host = firstHost; host <= lastHost; host += 1) {
      if (!this.#used.has(host) && this.#isFree(host)) fresh.push(host)
    }
    const host = fresh[Math.floor(random() * fresh.length)] ?? [...this.#used].find((each) => this.#isFree(each))
    if (host !== undefined) this.#held.add(host)
    return host
  }

  giveBack(host: number): void {
    this.#held.delete(host)
    this.#use(host)
  }

  /** Those that containers have now. */
  seen(hosts: ReadonlySet<number>): void {
    this.#busy = hosts
    for (const host of hosts) this.#use(host)
  }

  /** Somebody else has it, who has not been seen yet. */
  isTaken(host: number): void {
    this.#busy = new Set([...this.#busy, host])
  }

  #isFree(host: number): boolean {
    return !this.#held.has(host) && !this.#busy.has(host)
  }

  #use(host: number): void {
    this.#used.delete(host)
    this.#used.add(host)
  }
}
