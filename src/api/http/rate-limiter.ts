import { Failure } from "#contract"
import type { Clock } from "#kit"
import type { Lane } from "../lane.ts"

/** The rate limits of a person. */
export interface RateSettings {
  startsPerMinute: number
  writesPerMinute: number
  streamsPerMinute: number
  /** Event streams open at once. */
  openStreams: number
}

/** Beyond this many lanes, the buckets of the first one are discarded. */
const maxLanes = 10_000
const minuteMs = 60_000

type Kind = "starts" | "writes" | "streams"
type Buckets = Record<Kind, number> & { at: number }

const words: Record<Kind, string> = { starts: "starts of runs", writes: "changes", streams: "opened streams" }

/** Token buckets, one of each kind for a lane. They are refilled when used, without a timer. */
export class RateLimiter {
  readonly #clock: Clock
  readonly #limits: Record<Kind, number>
  readonly #lanes = new Map<Lane, Buckets>()

  constructor(clock: Clock, { startsPerMinute, writesPerMinute, streamsPerMinute }: RateSettings) {
    this.#clock = clock
    this.#limits = { starts: startsPerMinute, writes: writesPerMinute, streams: streamsPerMinute }
  }

  /**
   * Counts one event of each kind. Throws a `Failure` (429), and counts nothing, when a bucket is
   * empty.
   */
  consume(lane: Lane, ...kinds: readonly Kind[]): void {
    const buckets = this.#of(lane)
    for (const kind of kinds) if (buckets[kind] < 1) throw this.#refusal(kind, buckets[kind])
    for (const kind of kinds) buckets[kind] -= 1
  }

  #of(lane: Lane): Buckets {
    const now = this.#clock.now()
    const known = this.#lanes.get(lane)
    if (!known) return this.#remember(lane, { ...this.#limits, at: now })
    const share = Math.max(0, now - known.at) / minuteMs
    known.at = now
    for (const kind of ["starts", "writes", "streams"] as const) {
      known[kind] = Math.min(this.#limits[kind], known[kind] + share * this.#limits[kind])
    }
    return known
  }

  #remember(lane: Lane, buckets: Buckets): Buckets {
    this.#lanes.set(lane, buckets)
    if (this.#lanes.size > maxLanes) this.#lanes.delete(this.#lanes.keys().next().value ?? -1)
    return buckets
  }

  #refusal(kind: Kind, left: number): Failure {
    const limit = this.#limits[kind]
    const seconds = Math.max(1, Math.ceil(((1 - left) * minuteMs) / limit / 1_000))
    const msg = `At most ${limit.toLocaleString("en")} ${words[kind]} in a minute are allowed for a person; try again in ${seconds} s`
    return new Failure("too_many_requests", msg, { headers: { "Retry-After": String(seconds) } })
  }
}
