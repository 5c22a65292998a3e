import { bounds } from "#contract"

/**
 * The kinds of calls to the daemon. Each has its own queue, so that none waits behind another.
 * `read` inspects, `create` creates or starts, `stop` waits for a program to end, `remove` removes.
 * `unlimited` is for streams, and for calls that wait for a registry rather than for the daemon.
 */
export type CallKind = "read" | "create" | "stop" | "remove" | "unlimited"

interface Waiting {
  owner: string
  begin: () => void
  reject: (reason: unknown) => void
}

/** Limits concurrent calls, in all and per owner. Other calls wait in order. */
export class CallQueue {
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

/** The queues of one daemon's client. */
export class CallQueues {
  readonly #queues: Record<Exclude<CallKind, "unlimited">, CallQueue>

  constructor() {
    const { engineCalls, engineCallsOfPerson, engineStarts, engineStartsOfPerson, engineGraces, engineGracesOfPerson, engineStops } =
      bounds.containers
    this.#queues = {
      read: new CallQueue(engineCalls.value, engineCallsOfPerson.value),
      create: new CallQueue(engineStarts.value, engineStartsOfPerson.value),
      stop: new CallQueue(engineGraces.value, engineGracesOfPerson.value),
      remove: new CallQueue(engineStops.value),
    }
  }

  async acquire(kind: CallKind, owner: string | undefined, signal: AbortSignal | undefined): Promise<Disposable | undefined> {
    return kind === "unlimited" ? undefined : this.#queues[kind].acquire(owner, signal)
  }

  rejectWaiting(reason: unknown): void {
    for (const queue of Object.values(this.#queues)) queue.rejectWaiting(reason)
  }
}
