import type { Record } from "./record.ts"

interface Held {
  what: string
  owner: object
  /** Whether it is on its way to the engine, which receives it even if the sender dies now. */
  isRequest: boolean
  deliver(): void
}

/** Requests and answers that are on their way; the scheduler chooses which of them arrives next. */
export class HeldAnswers {
  readonly #held: Held[] = []
  readonly #record: Record

  constructor(record: Record) {
    this.#record = record
  }

  get count(): number {
    return this.#held.length
  }

  /**
   * Resolves when the scheduler delivers it. An abort rejects with the signal's reason, or delivers
   * at once what cannot be taken back.
   */
  hold(what: string, owner: object, options: { isRequest?: boolean; signal?: AbortSignal | undefined; onAbort?: "reject" | "deliver" }) {
    const { isRequest = false, signal, onAbort = "reject" } = options
    return new Promise<void>((resolve, reject) => {
      const handleAbort = () => {
        this.#remove(held)
        if (onAbort === "reject") reject(signal?.reason)
        else resolve()
      }
      const deliver = () => {
        signal?.removeEventListener("abort", handleAbort)
        resolve()
      }
      const held = { what, owner, isRequest, deliver }
      if (signal?.aborted) return handleAbort()
      this.#held.push(held)
      signal?.addEventListener("abort", handleAbort, { once: true })
    })
  }

  /** Delivers the one at this place. */
  deliver(index: number): void {
    const [held] = this.#held.splice(index, 1)
    if (!held) return
    this.#record.line(`    arrived: ${held.what}`)
    held.deliver()
  }

  /** Drops what belongs to a process that was killed, but for requests that still arrive. */
  forget(owner: object, arrives: () => boolean): void {
    for (const held of [...this.#held]) if (held.owner === owner && !(held.isRequest && arrives())) this.#remove(held)
  }

  #remove(held: Held): void {
    const index = this.#held.indexOf(held)
    if (index >= 0) this.#held.splice(index, 1)
  }
}
