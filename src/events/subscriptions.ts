import { setImmediate as turn } from "node:timers/promises"
import { Failure } from "#contract"
import type { FeedPolicy, Subscriber } from "./feed-policy.ts"
import type { StreamWriter } from "./stream-writer.ts"

/** So many proofs are looked up at once, and before others have their turn. */
const lookupBatch = 16

/** The readers of one proof. */
export interface Subscription<L extends Subscriber> {
  readonly userId: number
  readonly credentialId: string
  readonly streams: Set<StreamWriter>
  subscriber: L
  /** Whether the looker may have changed since it was recalled. */
  isStale: boolean
  checking: Promise<void> | undefined
}

/** Who reads, by what proof, and whether they still may. */
export class Subscriptions<L extends Subscriber> {
  readonly #recall: FeedPolicy<L, unknown>["loadSubscriber"]
  readonly #byProof = new Map<string, Subscription<L>>()
  readonly #byPerson = new Map<number, number>()
  #streams = 0

  constructor(recall: FeedPolicy<L, unknown>["loadSubscriber"]) {
    this.#recall = recall
  }

  /** Streams that are open or about to be. */
  get streamCount(): number {
    return this.#streams
  }

  /** Takes one of a person's streams; throws `Failure` where they have as many as they may. */
  reserve(userId: number, max: number): void {
    const open = this.#byPerson.get(userId) ?? 0
    if (open >= max) {
      throw new Failure("too_many_requests", `${max} streams of events are open already; close one first`, {
        headers: { "Retry-After": "5" },
      })
    }
    this.#byPerson.set(userId, open + 1)
    this.#streams += 1
  }

  release(userId: number): void {
    const open = this.#byPerson.get(userId) ?? 0
    if (open > 1) this.#byPerson.set(userId, open - 1)
    else this.#byPerson.delete(userId)
    this.#streams -= 1
  }

  /** The looker was recalled before the stream was open: they are asked for again. */
  join(subscriber: L, credentialId: string, stream: StreamWriter): Subscription<L> {
    const key = keyOf(subscriber.userId, credentialId)
    const subscription: Subscription<L> = this.#byProof.get(key) ?? {
      ...{ userId: subscriber.userId, credentialId, subscriber, streams: new Set() },
      ...{ isStale: true, checking: undefined },
    }
    this.#byProof.set(key, subscription)
    subscription.streams.add(stream)
    return subscription
  }

  leave(subscription: Subscription<L>, stream: StreamWriter): void {
    subscription.streams.delete(stream)
    if (subscription.streams.size === 0) this.#byProof.delete(keyOf(subscription.userId, subscription.credentialId))
    this.release(subscription.userId)
  }

  all(): Iterable<Subscription<L>> {
    return this.#byProof.values()
  }

  /** What was recalled of these people (undefined: of all) is not used any more. */
  markStale(userIds: readonly number[] | undefined): void {
    for (const subscription of this.#byProof.values()) if (userIds?.includes(subscription.userId) ?? true) subscription.isStale = true
  }

  /**
   * Resolves when nobody is in doubt: whoever's proof has ended is cut off. `all`: also looks at
   * those who are not in doubt, whose proofs may have ended by themselves.
   */
  async revalidate(options: { all?: boolean } = {}): Promise<void> {
    const wanted = [...this.#byProof.values()].filter((subscription) => options.all || subscription.isStale || subscription.checking)
    for (let i = 0; i < wanted.length; i += lookupBatch) {
      if (i > 0) await turn()
      await Promise.all(wanted.slice(i, i + lookupBatch).map((subscription) => this.#check(subscription)))
    }
  }

  #check(subscription: Subscription<L>): Promise<void> {
    subscription.checking ??= this.#lookUp(subscription).finally(() => {
      subscription.checking = undefined
    })
    return subscription.checking
  }

  /** A doubt that comes while the answer is awaited makes the answer too old. */
  async #lookUp(subscription: Subscription<L>): Promise<void> {
    do {
      subscription.isStale = false
      const subscriber = await this.#recall(subscription.userId, subscription.credentialId).catch((error: unknown) => {
        subscription.isStale = true
        throw error
      })
      if (subscriber) subscription.subscriber = subscriber
      else for (const stream of subscription.streams) stream.end()
    } while (subscription.isStale)
  }
}

function keyOf(userId: number, credentialId: string): string {
  return `${userId} ${credentialId}`
}
