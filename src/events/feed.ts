import { setTimeout as pause, setImmediate as turn } from "node:timers/promises"
import { bounds, Failure } from "#contract"
import { type Clock, deadline, HeavyWorkQueue, type Logger, Semaphore } from "#kit"
import type { JournalRow, Store } from "#store"
import { EventBatch } from "./event-batch.ts"
import type { FeedPolicy, Subscriber } from "./feed-policy.ts"
import { type EventSink, StreamWriter } from "./stream-writer.ts"
import { type Subscription, Subscriptions } from "./subscriptions.ts"

/**
 * Deliveries are batched for this time, except the first after a pause. Without notices, rows of
 * other processes are found within the same time.
 */
const batchMs = 250
const heartbeatMs = 15_000
/** The interval of polling without news, if all news are told. */
const idlePollMs = 5_000
/** The interval of revalidating credentials; with the age of a cached caller it stays below 5 s. */
const revalidateMs = 500
/** Rows read in one query. */
const pageSize = 500
/** Streams are written to for this time, then other work proceeds for at least `slicePauseMs`. */
const sliceMs = 0.25
const slicePauseMs = 1
/** A replayed page must be accepted within this time. */
const replayTimeoutMs = 30_000

export interface EventFeedOptions<L extends Subscriber, Resources> {
  store: Pick<Store, "events" | "notices">
  policy: FeedPolicy<L, Resources>
  /** Calls the listener when there may be new rows. */
  onJournalWrite(listener: () => void): Disposable
  clock: Clock
  logger: Logger
}

export interface StreamOptions<L extends Subscriber> {
  subscriber: L
  credentialId: string
  /** The row after which the stream begins; undefined: from now on. */
  after: number | undefined
  /** The maximum of concurrent streams of one person. Default: `bounds.rates.openStreams`. */
  maxStreams?: number
}

/**
 * Sends events to streams, filtered by what each subscriber may see. One read of the journal serves
 * all.
 */
export class EventFeed<L extends Subscriber, Resources> implements AsyncDisposable {
  readonly #options: EventFeedOptions<L, Resources>
  readonly #subscribers: Subscriptions<L>
  readonly #replays = new HeavyWorkQueue()
  readonly #replaySlots = new Semaphore(bounds.rates.replayPages.value)
  readonly #closed = new AbortController()
  readonly #listeners: Disposable[]
  #loops: Promise<unknown> = Promise.resolve()
  /** The last row sent to all live streams. Undefined without any stream. */
  #position: number | undefined
  /** The last row whose changes of rights have invalidated the cache. */
  #invalidatedTo = 0
  #wake: (() => void) | undefined
  #isNews = false
  #heartbeatAt = 0

  constructor(options: EventFeedOptions<L, Resources>) {
    const { policy } = options
    this.#options = options
    this.#subscribers = new Subscriptions((userId, credentialId) => policy.loadSubscriber(userId, credentialId))
    const heard = options.store.notices?.on(({ kind }) => {
      if (kind === "journal" || kind === "gap") this.#wakeUp()
    })
    const own = options.onJournalWrite(() => this.#wakeUp())
    this.#listeners = [own, policy.onInvalidate((ids) => this.#subscribers.markStale(ids)), ...(heard ? [heard] : [])]
  }

  /** Delivers events until disposed of. */
  start(): void {
    this.#loops = Promise.all([this.#deliverUntilClosed(), this.#revalidateAll()])
  }

  /** Streams that are open. */
  get streamCount(): number {
    return this.#subscribers.streamCount
  }

  /**
   * Resolves with a function that starts the stream and must be called; everything committed from
   * now on is sent. Throws `Failure` when a person has too many streams, and when the service
   * stops.
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
   * Replays missed rows page by page until the stream has caught up. Other streams catch up while a
   * page is being accepted.
   */
  async #catchUp(subscription: Subscription<L>, stream: StreamWriter): Promise<void> {
    while (!stream.isEnded && stream.position < (this.#position ?? 0)) {
      const readPage = () => this.#replay(subscription, stream)
      await this.#replays.run(subscription.userId, () => this.#replaySlots.run(readPage))
      using late = deadline(replayTimeoutMs, "The replay")
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
    this.#options.logger.warn({ err }, "missed events were not replayed")
    stream.end()
  }

  /** The next rows, filtered by visibility after the last of them. */
  async #readBatch(after: number): Promise<EventBatch<L, Resources> | undefined> {
    const { store, policy } = this.#options
    const rows = await store.events.after(after, pageSize)
    if (rows.length === 0) return undefined
    const news = rows.filter((row) => row.id > this.#invalidatedTo)
    if (news.length > 0) this.#invalidate(news)
    this.#invalidatedTo = Math.max(this.#invalidatedTo, rows.at(-1)?.id ?? 0)
    const resources = await policy.loadResources(rows)
    await this.#subscribers.revalidate()
    const onSkipped = (row: JournalRow, err: unknown) =>
      this.#options.logger.error({ err, row: row.id, event: row.event }, "an event was skipped")
    return new EventBatch(policy, rows, { resources, onSkipped })
  }

  /** If the policy cannot read a row, the row may concern everybody. */
  #invalidate(rows: readonly JournalRow[]): void {
    try {
      this.#options.policy.invalidate(rows)
    } catch {
      if (rows.length > 1) for (const row of rows) this.#invalidate([row])
      else this.#subscribers.markStale(undefined)
    }
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
   * Streams are written to in slices with pauses, so that no request waits for more than one slice.
   * A late round makes no pauses.
   */
  async #send(write: (stream: StreamWriter, subscriber: L) => void): Promise<void> {
    const began = performance.now()
    let now = began
    let until = began + sliceMs
    for (const { subscriber, streams } of this.#subscribers.all()) {
      for (const stream of streams) {
        if (stream.isLive && !stream.isEnded) write(stream, subscriber)
        now = performance.now()
        if (now < until) continue
        await (now - began < batchMs ? pause(slicePauseMs) : turn())
        until = performance.now() + sliceMs
      }
    }
  }

  async #revalidateAll(): Promise<void> {
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

  /** Resolves on news of this process, or when it is time to poll. */
  async #untilDue(): Promise<void> {
    if (this.#isNews || this.#closed.signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const due = new AbortController()
    this.#wake = resolve
    const { notices } = this.#options.store
    const ms = !notices || notices.isListening ? idlePollMs : batchMs
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
