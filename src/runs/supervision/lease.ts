import { randomBytes } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import type { Clock, Logger } from "#kit"
import type { Change, LeaseRow, Store } from "#store"

/**
 * The machine's own clock, in milliseconds: other processes go by theirs, whatever clock the rest
 * of this one has.
 */
const monotonicNow = () => performance.now()

/** The right to supervise, which one process has at a time. */
export interface Lease {
  /** Aborted once another process may have the right. */
  readonly lost: AbortSignal
  /** By this process's own clock, so also true of one that was stopped for a while. */
  isHeld(): boolean
  /** Throws a `LeaseLostError` in a transaction after another process took the right. */
  assertHeldIn(tx: Change): Promise<void>
}

/** Another process supervises, or may soon. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError"
}

/** The lease of a process that has its database to itself. */
export function soleLease(): Lease {
  return { lost: new AbortController().signal, isHeld: () => true, assertHeldIn: async () => {} }
}

export interface LeaseTimes {
  /** Between two beats of the holder, and two looks of the others. Default 1,000. */
  beatEveryMs: number
  /** The holder gives up so long after its last beat. Default 4,000. */
  lostAfterMs: number
  /** Another process takes over after so long without a beat. Default 6,000. */
  takenAfterMs: number
}
const defaultTimes: LeaseTimes = { beatEveryMs: 1_000, lostAfterMs: 4_000, takenAfterMs: 6_000 }

export interface LeaseKeeperOptions {
  store: Pick<Store, "change" | "leases">
  clock: Clock
  logger: Logger
  times?: Partial<LeaseTimes> | undefined
}

const name = "supervisor"

/**
 * Sees whether any process has the right. No two clocks are compared: the holder's beats stand
 * still, for longer than the holder itself would go on without one.
 */
export class LeaseWatch {
  readonly #options: Pick<LeaseKeeperOptions, "store" | "times">
  #seen: { row: LeaseRow | undefined; at: number } | undefined

  constructor(options: Pick<LeaseKeeperOptions, "store" | "times">) {
    this.#options = options
  }

  /** As of the last look. */
  get row(): LeaseRow | undefined {
    return this.#seen?.row
  }

  async isHeldByAnybody(): Promise<boolean> {
    const { store, times } = this.#options
    const row = await store.leases.get(name)
    const now = monotonicNow()
    if (!this.#seen || !isDeepStrictEqual(row, this.#seen.row)) this.#seen = { row, at: now }
    return row !== undefined && row.holder !== "" && now - this.#seen.at < { ...defaultTimes, ...times }.takenAfterMs
  }
}

/** Waits for the right to supervise. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions
  readonly #times: LeaseTimes
  readonly #watch: LeaseWatch
  readonly #holder = randomBytes(16).toString("hex")

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
    this.#times = { ...defaultTimes, ...options.times }
    this.#watch = new LeaseWatch(options)
  }

  /** Rejects with the signal's reason. */
  async acquire(closed: AbortSignal): Promise<HeldLease> {
    const { clock, logger } = this.#options
    for (;;) {
      closed.throwIfAborted()
      try {
        const held = (await this.#watch.isHeldByAnybody()) ? undefined : await this.#take(this.#watch.row)
        if (held) return held
      } catch (err) {
        if (!closed.aborted) logger.warn({ err }, "it is not known which process supervises the runs")
      }
      await clock.sleep(this.#times.beatEveryMs, closed)
    }
  }

  /** Unless somebody else was quicker. */
  async #take(seen: LeaseRow | undefined): Promise<HeldLease | undefined> {
    const { store } = this.#options
    const since = monotonicNow()
    const token = await store.change(async (tx) =>
      isDeepStrictEqual(await tx.leases.get(name), seen) ? tx.leases.take(name, this.#holder) : undefined,
    )
    return token === undefined ? undefined : new HeldLease({ ...this.#options, times: this.#times }, { token, since })
  }
}

/** Beats until it is disposed of, which frees it, or is lost. */
export class HeldLease implements Lease, AsyncDisposable {
  readonly #options: LeaseKeeperOptions & { times: LeaseTimes }
  readonly #token: number
  readonly #lost = new AbortController()
  readonly #released = new AbortController()
  readonly #beating: Promise<void>
  #lastBeat: number

  constructor(options: LeaseKeeperOptions & { times: LeaseTimes }, { token, since }: { token: number; since: number }) {
    this.#options = options
    this.#token = token
    this.#lastBeat = since
    this.#beating = this.#beatUntilReleased()
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  isHeld(): boolean {
    const { times } = this.#options
    if (monotonicNow() - this.#lastBeat >= times.lostAfterMs) this.#lose("no beat could be written in time")
    return !this.#lost.signal.aborted
  }

  async assertHeldIn(tx: Change): Promise<void> {
    const row = await tx.leases.get(name)
    if (row?.token === this.#token && this.isHeld()) return
    this.#lose("another process took over")
    throw new LeaseLostError("Another process supervises the runs")
  }

  #lose(why: string): void {
    if (this.#lost.signal.aborted) return
    if (!this.#released.signal.aborted) this.#options.logger.warn({ why }, "this process no longer supervises the runs")
    this.#lost.abort(new LeaseLostError(`This process no longer supervises the runs: ${why}`))
  }

  /** A write that hangs must not keep the holder from noticing the time. */
  async #beatUntilReleased(): Promise<void> {
    const { clock, times } = this.#options
    let beating: Promise<void> | undefined
    while (!this.#released.signal.aborted && this.isHeld()) {
      beating ??= this.#beat().finally(() => {
        beating = undefined
      })
      await clock.sleep(times.beatEveryMs, this.#released.signal).catch(() => {})
    }
    await beating
  }

  async #beat(): Promise<void> {
    const { store, logger } = this.#options
    const began = monotonicNow()
    try {
      const isKnown = await store.change((tx) => tx.leases.beat(name, this.#token), { urgent: true })
      if (isKnown) this.#lastBeat = Math.max(this.#lastBeat, began)
      else this.#lose("another process took over")
    } catch (err) {
      if (!this.#released.signal.aborted) logger.warn({ err }, "it was not recorded that this process supervises the runs")
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { store, logger } = this.#options
    this.#released.abort()
    await this.#beating
    const wasHeld = !this.#lost.signal.aborted
    this.#lose("it was released")
    if (!wasHeld) return
    await store
      .change((tx) => tx.leases.release(name, this.#token), { urgent: true })
      .catch((err: unknown) => logger.warn({ err }, "another process takes over the runs a few seconds later"))
  }
}
