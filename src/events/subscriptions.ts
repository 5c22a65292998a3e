import { setImmediate as turn } from "node:timers/promises"
import { Failure } from "#contract"
import type { Reader } from "./event-stream.ts"
import type { FeedPolicy, Looker } from "./feed-policy.ts"

/** So many proofs are looked up at once, and before others have their turn. */
const width = 16

/** The readers of one proof. */
export interface Watch<L extends Looker> {
  readonly userId: number
  readonly credentialId: string
  readonly readers: Set<Reader>
  looker: L
  /** Whether the looker may have changed since it was recalled. */
  isDoubtful: boolean
  checking: Promise<void> | undefined
}

/** Who reads, by what proof, and whether they still may. */
export class Watches<L extends Looker> {
  readonly #recall: FeedPolicy<L, unknown>["recall"]
  readonly #byProof = new Map<string, Watch<L>>()
  readonly #byPerson = new Map<number, number>()
  #streams = 0

  constructor(recall: FeedPolicy<L, unknown>["recall"]) {
    this.#recall = recall
  }

  /** Streams that are open or about to be. */
  get streams(): number {
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
  join(looker: L, credentialId: string, reader: Reader): Watch<L> {
    const key = keyOf(looker.userId, credentialId)
    const watch: Watch<L> = this.#byProof.get(key) ?? {
      ...{ userId: looker.userId, credentialId, looker, readers: new Set() },
      ...{ isDoubtful: true, checking: undefined },
    }
    this.#byProof.set(key, watch)
    watch.readers.add(reader)
    return watch
  }

  leave(watch: Watch<L>, reader: Reader): void {
    watch.readers.delete(reader)
    if (watch.readers.size === 0) this.#byProof.delete(keyOf(watch.userId, watch.credentialId))
    this.release(watch.userId)
  }

  all(): Iterable<Watch<L>> {
    return this.#byProof.values()
  }

  /** What was recalled of these people (undefined: of all) is not used any more. */
  doubt(userIds: readonly number[] | undefined): void {
    for (const watch of this.#byProof.values()) if (userIds?.includes(watch.userId) ?? true) watch.isDoubtful = true
  }

  /**
   * Resolves when nobody is in doubt: whoever's proof has ended is cut off. `all`: also looks at
   * those who are not in doubt, whose proofs may have ended by themselves.
   */
  async settle(options: { all?: boolean } = {}): Promise<void> {
    const wanted = [...this.#byProof.values()].filter((watch) => options.all || watch.isDoubtful || watch.checking)
    for (let i = 0; i < wanted.length; i += width) {
      if (i > 0) await turn()
      await Promise.all(wanted.slice(i, i + width).map((watch) => this.#check(watch)))
    }
  }

  #check(watch: Watch<L>): Promise<void> {
    watch.checking ??= this.#lookUp(watch).finally(() => {
      watch.checking = undefined
    })
    return watch.checking
  }

  /** A doubt that comes while the answer is awaited makes the answer too old. */
  async #lookUp(watch: Watch<L>): Promise<void> {
    do {
      watch.isDoubtful = false
      const looker = await this.#recall(watch.userId, watch.credentialId).catch((error: unknown) => {
        watch.isDoubtful = true
        throw error
      })
      if (looker) watch.looker = looker
      else for (const reader of watch.readers) reader.end()
    } while (watch.isDoubtful)
  }
}

function keyOf(userId: number, credentialId: string): string {
  return `${userId} ${credentialId}`
}
