import { setTimeout as pause, setImmediate as turn } from "node:timers/promises"
import { bounds, Failure } from "#contract"
import { type Clock, deadline, type Logger, Semaphore } from "#kit"
import type { Store } from "#store"
import { EventBatch } from "./event-batch.ts"
import type { FeedPolicy, Subscriber } from "./feed-policy.ts"
import { type EventSink, StreamWriter } from "./stream-writer.ts"
import { type Subscription, Subscriptions } from "./subscriptions.ts"

/**
 * Deliveries are gathered for so long, except the first after a silence. Other processes' rows are
 * found within the same time.
 */
const batchMs = 250
const heartbeatMs = 15_000
/**
 * Without news it is looked for some after so long, in a database that this process has for itself.
 */
const idlePollMs = 5_000
/**
 * Every so often it is looked whether proofs still stand; with the age of a remembered caller this
 * stays below 5 s.
 */
const revalidateMs = 500
/** Rows that are read at once. */
const pageSize = 500
/**
 * Readers are written to for so long, then others have their turn for at least as long as
 * `breathMs`.
 */
const sliceMs = 0.25
const slicePauseMs = 1
/** So many readers at once are told a page of what they missed. */
const maxReplays = 4
/** A page of it that is not taken after so long was for nobody. */
const replayTimeoutMs = 30_000

export interface EventFeedOptions<L extends Subscriber, Resources> {
  store: Pick<Store, "events" | "dialect">
  policy: FeedPolicy<L, Resources>
  /** Calls back when there may be new rows. */
  onJournalWrite(listener: () => void): Disposable
  clock: Clock
  logger: Logger
}

export interface StreamOptions<L extends Subscriber> {
  subscriber: L
  credentialId: string
  /** The row after which they want to be told; undefined: from now on. */
  after: number | undefined
  /** So many streams somebody may have at once. Default: `bounds.rates.openStreams`. */
  maxStreams?: number
}

/**
 * Tells readers what happens, each what they may see: one reading of the journal for all of them.
 */
export class EventFeed<L extends Subscriber, Resources> implements AsyncDisposable {
  readonly #options: EventFeedOptions<L, Resources>
  readonly #subscribers: Subscriptions<L>
  readonly #replaySlots = new Semaphore(maxReplays)
  readonly #closed = new AbortController()
  readonly #listeners: Disposable[]
  #loops: Promise<unknown> = Promise.resolve()
  /** All rows up to here were sent to those who do not catch up. Undefined while nobody reads. */
  #position: number | undefined
  /** Whose rights changed by rows up to here is known. */
  #invalidatedTo = 0
  #wake: (() => void) | undefined
  #isNews = false
  #heartbeatAt = 0

  constructor(options: EventFeedOptions<L, Resources>) {
    const { policy } = options
    this.#options = options
    this.#subscribers = new Subscriptions((userId, credentialId) => policy.loadSubscriber(userId, credentialId))
    this.#listeners = [options.onJournalWrite(() => this.#wakeUp()), policy.onInvalidate((ids) => this.#subscribers.markStale(ids))]
  }

  /** Delivers events until disposed of. */
  start(): void {
    this.#loops = Promise.all([this.#deliverUntilClosed(), this.#revalidateProofs()])
  }

  /** Streams that are open. */
  get streamCount(): number {
    return this.#subscribers.streamCount
  }

  /**
   * Resolves with what begins the stream, which must be called, once it is known from where:
   * whatever is committed from now on is told. Throws `Failure` where somebody has as many streams
   * as they may, and when the service stops.
   */
  async open({
    subscriber,
    credentialId,
    after,
    maxStreams = bounds.rates.openStreams.value,
  }: StreamOptions<L>): Promise<(sink: EventSink) => void> {
    if (this.#closed.signal.aborted) throw closedFailure()
    this.#subscribers.reserve(subscriber.userId, maxStreams)
    try {
      const { first, last } = await this.#options.store.events.bounds()
      const isGap = after !== undefined && (after > last || after < first - 1)
      this.#position ??= last
      this.#invalidatedTo ||= last
      return (sink) => this.#begin({ subscriber, credentialId, isGap }, new StreamWriter(sink, after === undefined || isGap ? last : after))
    } catch (error) {
      this.#subscribers.release(subscriber.userId)
      throw error
    }
  }

  #begin(asked: { subscriber: L; credentialId: string; isGap: boolean }, stream: StreamWriter): void {
    const subscription = this.#subscribers.join(asked.subscriber, asked.credentialId, stream)
    stream.sink.onClose(() => {
      stream.isEnded = true
      this.#subscribers.leave(subscription, stream)
    })
    if (this.#closed.signal.aborted) return void stream.end()
    stream.start()
    if (asked.isGap) stream.reset(stream.position)
    if (stream.position >= (this.#position ?? 0)) stream.isLive = true
    else this.#catchUp(subscription, stream).catch((err) => this.#fail(err, stream))
  }

  /**
   * Sends what was missed, page by page, until nothing is left between it and what all are sent.
   * While a page is taken others catch up: who takes nothing is in nobody's way.
   */
  async #catchUp(subscription: Subscription<L>, stream: StreamWriter): Promise<void> {
    while (!stream.isEnded && stream.position < (this.#position ?? 0)) {
      await this.#replaySlots.run(() => this.#replay(subscription, stream))
      using late = deadline(replayTimeoutMs, "What was missed")
      await stream.sink.drained(late)
      if (late.aborted) stream.evict()
    }
    stream.isLive = true
  }

  async #replay(subscription: Subscription<L>, stream: StreamWriter): Promise<void> {
    const { first } = await this.#options.store.events.bounds()
    const batch = stream.position < first - 1 ? undefined : await this.#readBatch(stream.position)
    if (batch) stream.send(batch.bytesFor(subscription.subscriber, stream.position), batch.last)
    else stream.reset(this.#position ?? stream.position)
  }

  #fail(err: unknown, stream: StreamWriter): void {
    this.#options.logger.warn({ err }, "a stream of events could not be told what it missed")
    stream.end()
  }

  /** The next rows after this one, judged by who sees what at a moment after the last of them. */
  async #readBatch(after: number): Promise<EventBatch<L, Resources> | undefined> {
    const { store, policy } = this.#options
    const rows = await store.events.after(after, pageSize)
    if (rows.length === 0) return undefined
    const news = rows.filter((row) => row.id > this.#invalidatedTo)
    if (news.length > 0) policy.invalidate(news)
    this.#invalidatedTo = Math.max(this.#invalidatedTo, rows.at(-1)?.id ?? 0)
    const resources = await policy.loadResources(rows)
    await this.#subscribers.revalidate()
    return new EventBatch(policy, rows, resources)
  }

  async #deliverUntilClosed(): Promise<void> {
    const { signal } = this.#closed
    while (!signal.aborted) {
      await this.#untilDue()
      if (signal.aborted) return
      await this.#deliver().catch((err) => this.#options.logger.warn({ err }, "events were not delivered"))
      await this.#pause(batchMs)
    }
  }

  async #deliver(): Promise<void> {
    this.#isNews = false
    if (this.#subscribers.streamCount === 0) this.#position = undefined
    while (this.#position !== undefined) {
      const batch = await this.#readBatch(this.#position)
      if (!batch) break
      this.#position = batch.last
      await this.#send((stream, subscriber) => {
        if (stream.position < batch.last) stream.send(batch.bytesFor(subscriber, stream.position), batch.last)
      })
    }
    const now = this.#options.clock.now()
    if (now - this.#heartbeatAt < heartbeatMs) return
    this.#heartbeatAt = now
    await this.#send((stream) => stream.sendHeartbeat())
  }

  /**
   * Readers are written to in slices with pauses, so that no request waits for more than one of
   * them. Who is behind makes no pauses.
   */
  async #send(tell: (stream: StreamWriter, subscriber: L) => void): Promise<void> {
    const began = performance.now()
    let now = began
    let until = began + sliceMs
    for (const { subscriber, streams } of this.#subscribers.all()) {
      for (const stream of streams) {
        if (stream.isLive && !stream.isEnded) tell(stream, subscriber)
        now = performance.now()
        if (now < until) continue
        await (now - began < batchMs ? pause(slicePauseMs) : turn())
        until = performance.now() + sliceMs
      }
    }
  }

  async #revalidateProofs(): Promise<void> {
    const { signal } = this.#closed
    while (!signal.aborted) {
      await this.#pause(revalidateMs)
      const { logger } = this.#options
      await this.#subscribers
        .revalidate({ all: true })
        .catch((err) => logger.warn({ err }, "it is not known whether streams of events may still read"))
    }
  }

  #wakeUp(): void {
    this.#isNews = true
    this.#wake?.()
  }

  /** Resolves when there is something to do: news of this process, or time to look for others'. */
  async #untilDue(): Promise<void> {
    if (this.#isNews || this.#closed.signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const due = new AbortController()
    this.#wake = resolve
    const ms = this.#options.store.dialect === "postgres" ? batchMs : idlePollMs
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
    this.#closed.abort(closedFailure())
    for (const each of this.#listeners) each[Symbol.dispose]()
    for (const { streams } of this.#subscribers.all()) for (const stream of streams) stream.end()
    await this.#loops
  }
}

function closedFailure(): Failure {
  return new Failure("unavailable", "The service stops", { headers: { "Retry-After": "5" } })
}
