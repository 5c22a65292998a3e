interface Waiting {
  owner: string
  begin: () => void
  reject: (reason: unknown) => void
}

/**
 * Limits concurrent calls, in all and per owner; those of nobody count in all only. Other calls
 * wait in order.
 */
export class OwnerQueue {
  readonly #maxRunning: number
  readonly #maxOfOwner: number
  readonly #running = new Map<string, number>()
  readonly #waiting = new Set<Waiting>()
  #count = 0

  constructor(maxRunning: number, maxOfOwner = maxRunning) {
    this.#maxRunning = maxRunning
    this.#maxOfOwner = maxOfOwner
  }

  /**
   * Resolves when the call may begin, with a disposable that ends it. Rejects with the signal's
   * reason, or with the reason passed to `rejectWaiting`.
   */
  async acquire(owner = "", signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted()
    if (this.#hasRoom(owner)) this.#begin(owner)
    else await this.#wait(owner, signal)
    return { [Symbol.dispose]: () => this.#end(owner) }
  }

  /** Rejects all waiting calls. Running calls continue. */
  rejectWaiting(reason: unknown): void {
    for (const each of [...this.#waiting]) each.reject(reason)
  }

  #wait(owner: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => waiting.reject(signal?.reason)
      const settled = () => {
        this.#waiting.delete(waiting)
        signal?.removeEventListener("abort", onAbort)
      }
      const waiting: Waiting = {
        owner,
        begin: () => {
          settled()
          this.#begin(owner)
          resolve()
        },
        reject: (reason) => {
          settled()
          reject(reason)
        },
      }
      this.#waiting.add(waiting)
      signal?.addEventListener("abort", onAbort, { once: true })
    })
  }

  #hasRoom(owner: string): boolean {
    return this.#count < this.#maxRunning && (owner === "" || (this.#running.get(owner) ?? 0) < this.#maxOfOwner)
  }

  #begin(owner: string): void {
    this.#count += 1
    if (owner !== "") this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1)
  }

  #end(owner: string): void {
    this.#count -= 1
    const remaining = (this.#running.get(owner) ?? 0) - 1
    if (remaining > 0) this.#running.set(owner, remaining)
    else this.#running.delete(owner)
    for (const next of this.#waiting) {
      if (!this.#hasRoom(next.owner)) continue
      next.begin()
      return
    }
  }
}
