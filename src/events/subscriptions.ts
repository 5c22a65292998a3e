import { setImmediate as turn } from "node:timers/promises"
import { Failure } from "#contract"
import type { FeedPolicy, Subscriber } from "./feed-policy.ts"
import type { StreamWriter } from "./stream-writer.ts"

/** Credentials looked up concurrently, before other work proceeds. */
const lookupBatch = 16

/** The streams of one credential. */
export interface Subscription<L extends Subscriber> {
  readonly userId: number
  readonly credentialId: string
  readonly streams: Set<StreamWriter>
  subscriber: L
  /** Whether the subscriber may have changed since it was loaded. */
  isStale: boolean
  checking: Promise<void> | undefined
}

/** All streams by person and credential, and whether they may still read. */
export class Subscriptions<L extends Subscriber> {
  readonly #loadSubscriber: FeedPolicy<L, unknown>["loadSubscriber"]
  readonly #byCredential = new Map<string, Subscription<L>>()
  readonly #byPerson = new Map<number, number>()
  #streams = 0

  constructor(loadSubscriber: FeedPolicy<L, unknown>["loadSubscriber"]) {
    this.#loadSubscriber = loadSubscriber
  }

  /** The number of streams that are open or opening. */
  get streamCount(): number {
    return this.#streams
  }

  /** Reserves one of a person's streams; throws `Failure` at their maximum. */
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

  /** The subscriber was loaded before the stream opened, so it is stale. */
  join(subscriber: L, credentialId: string, stream: StreamWriter): Subscription<L> {
    const key = keyOf(subscriber.userId, credentialId)
    const subscription: Subscription<L> = this.#byCredential.get(key) ?? {
      ...{ userId: subscriber.userId, credentialId, subscriber, streams: new Set() },
      ...{ isStale: true, checking: undefined },
    }
    this.#byCredential.set(key, subscription)
    subscription.streams.add(stream)
    return subscription
  }

  leave(subscription: Subscription<L>, stream: StreamWriter): void {
    subscription.streams.delete(stream)
    if (subscription.streams.size === 0) this.#byCredential.delete(keyOf(subscription.userId, subscription.credentialId))
    this.release(subscription.userId)
  }

  all(): Iterable<Subscription<L>> {
    return this.#byCredential.values()
  }

  /** Marks the subscribers of these people (undefined: of all) as stale. */
  markStale(userIds: readonly number[] | undefined): void {
    const ids = userIds && new Set(userIds)
    for (const subscription of this.#byCredential.values()) if (ids?.has(subscription.userId) ?? true) subscription.isStale = true
  }

  /**
   * Resolves when no subscription is stale; streams of ended credentials are closed. `all` also
   * checks the others, whose credentials may have expired.
   */
  async revalidate(options: { all?: boolean } = {}): Promise<void> {
    const wanted = [...this.#byCredential.values()].filter((subscription) => options.all || subscription.isStale || subscription.checking)
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

  /** A subscription that becomes stale during the lookup is loaded again. */
  async #lookUp(subscription: Subscription<L>): Promise<void> {
    do {
      subscription.isStale = false
      const subscriber = await this.#loadSubscriber(subscription.userId, subscription.credentialId).catch((error: unknown) => {
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
