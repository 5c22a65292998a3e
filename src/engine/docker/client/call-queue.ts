import { bounds } from "#contract"

/**
 * What a call to the daemon is, so that one kind never waits behind another: `look` asks, `make`
 * makes or starts, `grace` waits for a program that was told to end, `end` removes. `none` has no
 * bound: streams, and what waits for a registry and not for the daemon.
 */
export type CallKind = "read" | "create" | "stop" | "remove" | "unlimited"

interface Waiting {
  owner: string
  begin: () => void
  reject: (reason: unknown) => void
}

/**
 * Lets so many calls run at a time, of one owner at most so many; others wait in the order in which
 * they came.
 */
export class CallQueue {
  readonly #width: number
  readonly #ofOwner: number
  readonly #running = new Map<string, number>()
  readonly #waiting = new Set<Waiting>()
  #count = 0

  constructor(width: number, ofOwner = width) {
    this.#width = width
    this.#ofOwner = ofOwner
  }

  /**
   * Resolves when the call may begin, with what ends it. Rejects with the signal's reason, or with
   * what `rejectWaiting` was given.
   */
  async acquire(owner = "", signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted()
    if (this.#hasRoom(owner)) this.#begin(owner)
    else await this.#turn(owner, signal)
    return { [Symbol.dispose]: () => this.#leave(owner) }
  }

  /** Refuses all that wait. What runs goes on. */
  rejectWaiting(reason: unknown): void {
    for (const each of [...this.#waiting]) each.reject(reason)
  }

  #turn(owner: string, signal: AbortSignal | undefined): Promise<void> {
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
    return this.#count < this.#width && (owner === "" || (this.#running.get(owner) ?? 0) < this.#ofOwner)
  }

  #begin(owner: string): void {
    this.#count += 1
    if (owner !== "") this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1)
  }

  #leave(owner: string): void {
    this.#count -= 1
    const left = (this.#running.get(owner) ?? 0) - 1
    if (left > 0) this.#running.set(owner, left)
    else this.#running.delete(owner)
    for (const next of this.#waiting) {
      if (!this.#hasRoom(next.owner)) continue
      next.begin()
      return
    }
  }
}

/** The lanes of one daemon's client. */
export class CallQueues {
  readonly #queues: Record<Exclude<CallKind, "unlimited">, CallQueue>

  constructor() {
    const { engineCalls, engineStarts, engineStartsOfPerson, engineGraces, engineGracesOfPerson, engineStops } = bounds.containers
    this.#queues = {
      read: new CallQueue(engineCalls.value),
      create: new CallQueue(engineStarts.value, engineStartsOfPerson.value),
      stop: new CallQueue(engineGraces.value, engineGracesOfPerson.value),
      remove: new CallQueue(engineStops.value),
    }
  }

  async acquire(name: CallKind, owner: string | undefined, signal: AbortSignal | undefined): Promise<Disposable | undefined> {
    return name === "unlimited" ? undefined : this.#queues[name].acquire(owner, signal)
  }

  rejectWaiting(reason: unknown): void {
    for (const queue of Object.values(this.#queues)) queue.rejectWaiting(reason)
  }
}
