import { bounds } from "#contract"
import { OwnerQueue } from "#kit"

/**
 * The kinds of calls to the daemon. Each has its own queue, so that none waits behind another.
 * `read` inspects, `create` creates or starts, `stop` waits for a program to end, `remove` removes.
 * `unlimited` is for streams, and for calls that wait for a registry rather than for the daemon.
 */
export type CallKind = "read" | "create" | "stop" | "remove" | "unlimited"

/** The queues of one daemon's client. */
export class CallQueues {
  readonly #queues: Record<Exclude<CallKind, "unlimited">, OwnerQueue>

  constructor() {
    const {
      engineCalls,
      engineCallsOfPerson,
      engineStarts,
      engineStartsOfPerson,
      engineGraces,
      engineGracesOfPerson,
      engineStops,
      engineStopsOfPerson,
    } = bounds.containers
    this.#queues = {
      read: new OwnerQueue(engineCalls.value, engineCallsOfPerson.value),
      create: new OwnerQueue(engineStarts.value, engineStartsOfPerson.value),
      stop: new OwnerQueue(engineGraces.value, engineGracesOfPerson.value),
      remove: new OwnerQueue(engineStops.value, engineStopsOfPerson.value),
    }
  }

  async acquire(kind: CallKind, owner: string | undefined, signal: AbortSignal | undefined): Promise<Disposable | undefined> {
    return kind === "unlimited" ? undefined : this.#queues[kind].acquire(owner, signal)
  }

  rejectWaiting(reason: unknown): void {
    for (const queue of Object.values(this.#queues)) queue.rejectWaiting(reason)
  }
}
