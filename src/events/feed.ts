import { setTimeout as pause, setImmediate as turn } from "node:timers/promises"
import { bounds, Failure } from "#contract"
import { type Clock, deadline, type Logger, Semaphore } from "#kit"
import type { Store } from "#store"
import { Batch } from "./event-batch.ts"
import { Reader, type Sink } from "./event-stream.ts"
import type { FeedPolicy, Looker } from "./feed-policy.ts"
import { type Watch, Watches } from "./subscriptions.ts"

export type { Sink } from "./event-stream.ts"

/**
 * Deliveries are gathered for so long, except the first after a silence. Other processes' rows are
 * found within the same time.
 */
const gatherMs = 250
const heartbeatMs = 15_000
/**
 * Without news it is looked for some after so long, in a database that this process has for itself.
 */
const quietMs = 5_000
/**
 * Every so often it is looked whether proofs still stand; with the age of a remembered caller this
 * stays below 5 s.
 */
const proofsMs = 500
/** Rows that are read at once. */
const pageSize = 500
/**
 * Readers are written to for so long, then others have their turn for at least as long as
 * `breathMs`.
 */
const sliceMs = 0.25
const breathMs = 1
/** So many readers at once are told a page of what they missed. */
const replays = 4
/** A page of it that is not taken after so long was for nobody. */
const takenMs = 30_000

export interface FeedOptions<L extends Looker, Resources> {
  store: Pick<Store, "events" | "dialect">
  policy: FeedPolicy<L, Resources>
  /** Calls back when there may be new rows. */
  onJournal(listener: () => void): Disposable
  clock: Clock
  logger: Logger
}

export interface OpenOptions<L extends Looker> {
  looker: L
  credentialId: string
  /** The row after which they want to be told; undefined: from now on. */
  after: number | undefined
  /** So many streams somebody may have at once. Default: `bounds.rates.openStreams`. */
  most?: number
}

/**
 * Tells readers what happens, each what they may see: one reading of the journal for all of them.
 */
export class Feed<L extends Looker, Resources> implements AsyncDisposable {
  readonly #options: FeedOptions<L, Resources>
  readonly #watches: Watches<L>
  readonly #replays = new Semaphore(replays)
  readonly #closed = new AbortController()
  readonly #subscriptions: Disposable[]
  readonly #loops: Promise<unknown>
  /** All rows up to here were sent to those who do not catch up. Undefined while nobody reads. */
  #place: number | undefined
  /** Whose rights changed by rows up to here is known. */
  #known = 0
  #wake: (() => void) | undefined
  #isNews = false
  #beatAt = 0

  constructor(options: FeedOptions<L, Resources>) {
    const { policy } = options
    this.#options = options
    this.#watches = new Watches((userId, credentialId) => policy.recall(userId, credentialId))
    this.#subscriptions = [options.onJournal(() => this.#nudge()), policy.onForget((ids) => this.#watches.doubt(ids))]
    this.#loops = Promise.all([this.#deliverForEver(), this.#watchProofs()])
  }

  /** Streams that are open. */
  get streams(): number {
    return this.#watches.streams
  }

  /**
   * Resolves with what begins the stream, which must be called, once it is known from where:
   * whatever is committed from now on is told. Throws `Failure` where somebody has as many streams
   * as they may, and when the service stops.
   */
  async open({ looker, credentialId, after, most = bounds.rates.openStreams.value }: OpenOptions<L>): Promise<(sink: Sink) => void> {
    if (this.#closed.signal.aborted) throw stops()
    this.#watches.reserve(looker.userId, most)
    try {
      const { first, last } = await this.#options.store.events.bounds()
      const isGap = after !== undefined && (after > last || after < first - 1)
      this.#place ??= last
      this.#known ||= last
      return (sink) => this.#begin({ looker, credentialId, isGap }, new Reader(sink, after === undefined || isGap ? last : after))
    } catch (error) {
      this.#watches.release(looker.userId)
      throw error
    }
  }

  #begin(asked: { looker: L; credentialId: string; isGap: boolean }, reader: Reader): void {
    const watch = this.#watches.join(asked.looker, asked.credentialId, reader)
    reader.sink.onGone(() => {
      reader.isOver = true
      this.#watches.leave(watch, reader)
    })
    if (this.#closed.signal.aborted) return void reader.end()
    reader.begin()
    if (asked.isGap) reader.reset(reader.place)
    if (reader.place >= (this.#place ?? 0)) reader.isLive = true
    else this.#catchUp(watch, reader).catch((err) => this.#fail(err, reader))
  }

  /**
   * Sends what was missed, page by page, until nothing is left between it and what all are sent.
   * While a page is taken others catch up: who takes nothing is in nobody's way.
   */
  async #catchUp(watch: Watch<L>, reader: Reader): Promise<void> {
    while (!reader.isOver && reader.place < (this.#place ?? 0)) {
      await this.#replays.run(() => this.#replay(watch, reader))
      using late = deadline(takenMs, "What was missed")
      await reader.sink.drained(late)
      if (late.aborted) reader.letGo()
    }
    reader.isLive = true
  }

  async #replay(watch: Watch<L>, reader: Reader): Promise<void> {
    const { first } = await this.#options.store.events.bounds()
    const batch = reader.place < first - 1 ? undefined : await this.#read(reader.place)
    if (batch) reader.send(batch.bytesFor(watch.looker, reader.place), batch.last)
    else reader.reset(this.#place ?? reader.place)
  }

  #fail(err: unknown, reader: Reader): void {
    this.#options.logger.warn({ err }, "a reader of events could not be told what it missed")
    reader.end()
  }

  /** The next rows after this one, judged by who sees what at a moment after the last of them. */
  async #read(after: number): Promise<Batch<L, Resources> | undefined> {
    const { store, policy } = this.#options
    const rows = await store.events.after(after, pageSize)
    if (rows.length === 0) return undefined
    const news = rows.filter((row) => row.id > this.#known)
    if (news.length > 0) policy.forget(news)
    this.#known = Math.max(this.#known, rows.at(-1)?.id ?? 0)
    const resources = await policy.look(rows)
    await this.#watches.settle()
    return new Batch(policy, rows, resources)
  }

  async #deliverForEver(): Promise<void> {
    const { signal } = this.#closed
    while (!signal.aborted) {
      await this.#untilDue()
      if (signal.aborted) return
      await this.#deliver().catch((err) => this.#options.logger.warn({ err }, "events were not delivered"))
      await this.#pause(gatherMs)
    }
  }

  async #deliver(): Promise<void> {
    this.#isNews = false
    if (this.#watches.streams === 0) this.#place = undefined
    while (this.#place !== undefined) {
      const batch = await this.#read(this.#place)
      if (!batch) break
      this.#place = batch.last
      await this.#send((reader, looker) => {
        if (reader.place < batch.last) reader.send(batch.bytesFor(looker, reader.place), batch.last)
      })
    }
    const now = this.#options.clock.now()
    if (now - this.#beatAt < heartbeatMs) return
    this.#beatAt = now
    await this.#send((reader) => reader.beat())
  }

  /**
   * Readers are written to in slices with pauses, so that no request waits for more than one of
   * them. Who is behind makes no pauses.
   */
  async #send(tell: (reader: Reader, looker: L) => void): Promise<void> {
    const began = performance.now()
    let now = began
    let until = began + sliceMs
    for (const { looker, readers } of this.#watches.all()) {
      for (const reader of readers) {
        if (reader.isLive && !reader.isOver) tell(reader, looker)
        now = performance.now()
        if (now < until) continue
        await (now - began < gatherMs ? pause(breathMs) : turn())
        until = performance.now() + sliceMs
      }
    }
  }

  async #watchProofs(): Promise<void> {
    const { signal } = this.#closed
    while (!signal.aborted) {
      await this.#pause(proofsMs)
      const { logger } = this.#options
      await this.#watches
        .settle({ all: true })
        .catch((err) => logger.warn({ err }, "it is not known whether readers of events may still read"))
    }
  }

  #nudge(): void {
    this.#isNews = true
    this.#wake?.()
  }

  /** Resolves when there is something to do: news of this process, or time to look for others'. */
  async #untilDue(): Promise<void> {
    if (this.#isNews || this.#closed.signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const due = new AbortController()
    this.#wake = resolve
    const ms = this.#options.store.dialect === "postgres" ? gatherMs : quietMs
    await Promise.race([promise, this.#pause(ms, due.signal)])
    this.#wake = undefined
    due.abort()
  }

  /** Resolves after this time, or when the feed closes. */
  #pause(ms: number, signal = this.#closed.signal): Promise<void> {
    return this.#options.clock.sleep(ms, AbortSignal.any([signal, this.#closed.signal])).catch(() => {})
  }

  /** Ends all streams at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(stops())
    for (const each of this.#subscriptions) each[Symbol.dispose]()
    for (const { readers } of this.#watches.all()) for (const reader of readers) reader.end()
    await this.#loops
  }
}

function stops(): Failure {
  return new Failure("unavailable", "The service stops", { headers: { "Retry-After": "5" } })
}
