import { randomBytes } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import type { Clock, Logger } from "#kit"
import type { Change, LeaseRow, Store } from "#store"

/**
 * The machine's own clock, in milliseconds: other processes go by theirs, whatever clock the rest
 * of this one has.
 */
const monotonicNow = () => performance.now()

/** The right to do a task, which one process has at a time. */
export interface Lease {
  /** Aborted once another process may have the right. */
  readonly lost: AbortSignal
  /** By this process's own clock, so also true of one that was stopped for a while. */
  isHeld(): boolean
  /** Throws a `LeaseLostError` in a transaction after another process took the right. */
  assertHeldIn(tx: Change): Promise<void>
}

/** Another process has the task, or may soon. */
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

/** A task of an installation that one of its processes does at a time. */
export interface LeasedTask {
  name: string
  /** In messages: "this process …". */
  does: string
}

export interface LeaseWatchOptions {
  store: Pick<Store, "change" | "leases">
  task: LeasedTask
  times?: Partial<LeaseTimes> | undefined
}

export interface LeaseKeeperOptions extends LeaseWatchOptions {
  /**
   * At which the others reach the holder; empty (default) if they need not. This process listens
   * there already, so that an earlier holder of this address has ended.
   */
  address?: string | undefined
  clock: Clock
  logger: Logger
}

/**
 * Sees whether any process has the right. No two clocks are compared: the holder's beats stand
 * still, for longer than the holder itself would go on without one.
 */
export class LeaseWatch {
  readonly #options: LeaseWatchOptions
  #seen: { row: LeaseRow | undefined; at: number } | undefined

  constructor(options: LeaseWatchOptions) {
    this.#options = options
  }

  /** As of the last look. */
  get row(): LeaseRow | undefined {
    return this.#seen?.row
  }

  async isHeldByAnybody(): Promise<boolean> {
    const { store, times, task } = this.#options
    const row = await store.leases.get(task.name)
    const now = monotonicNow()
    if (!this.#seen || !isDeepStrictEqual(row, this.#seen.row)) this.#seen = { row, at: now }
    return row !== undefined && row.holder !== "" && now - this.#seen.at < { ...defaultTimes, ...times }.takenAfterMs
  }
}

/** Waits for the right to do a task. */
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
    for (;;) {
      const held = await this.acquireUnlessHeld(closed)
      if (held) return held
      await this.#options.clock.sleep(this.#times.beatEveryMs, closed)
    }
  }

  /**
   * Asks until the database answers. Undefined if another process has it. Rejects with the signal's
   * reason.
   */
  async acquireUnlessHeld(closed: AbortSignal): Promise<HeldLease | undefined> {
    const { clock, logger, task } = this.#options
    for (let isTold = false; ; isTold = true) {
      closed.throwIfAborted()
      try {
        return await this.tryAcquire()
      } catch (err) {
        if (!closed.aborted && !isTold) logger.warn({ err }, `it is not known which process ${task.does}`)
      }
      await clock.sleep(this.#times.beatEveryMs, closed)
    }
  }

  /** Undefined while another process has it. Rejects when the database cannot be asked. */
  async tryAcquire(): Promise<HeldLease | undefined> {
    const { address = "" } = this.#options
    const isHeld = await this.#watch.isHeldByAnybody()
    const { row } = this.#watch
    return isHeld && (address === "" || row?.address !== address) ? undefined : this.#take(row)
  }

  /** At which the last holder seen is reached; undefined if there is none. */
  get holderAddress(): string | undefined {
    const { row } = this.#watch
    return row === undefined || row.holder === "" ? undefined : row.address
  }

  /** Unless somebody else was quicker. */
  async #take(seen: LeaseRow | undefined): Promise<HeldLease | undefined> {
    const { store, task, address = "" } = this.#options
    const since = monotonicNow()
    const token = await store.change(async (tx) =>
      isDeepStrictEqual(await tx.leases.get(task.name), seen) ? tx.leases.take(task.name, { holder: this.#holder, address }) : undefined,
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
    const row = await tx.leases.get(this.#options.task.name)
    if (row?.token === this.#token && this.isHeld()) return
    this.#lose("another process took over")
    throw new LeaseLostError(`Another process ${this.#options.task.does}`)
  }

  #lose(why: string): void {
    if (this.#lost.signal.aborted) return
    const { logger, task } = this.#options
    if (!this.#released.signal.aborted) logger.warn({ why }, `this process no longer ${task.does}`)
    this.#lost.abort(new LeaseLostError(`This process no longer ${task.does}: ${why}`))
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
    const { store, logger, task } = this.#options
    const began = monotonicNow()
    try {
      const isKnown = await store.change((tx) => tx.leases.beat(task.name, this.#token), { urgent: true })
      if (isKnown) this.#lastBeat = Math.max(this.#lastBeat, began)
      else this.#lose("another process took over")
    } catch (err) {
      if (!this.#released.signal.aborted) logger.warn({ err }, `it was not recorded that this process ${task.does}`)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { store, logger, task } = this.#options
    this.#released.abort()
    await this.#beating
    const wasHeld = !this.#lost.signal.aborted
    this.#lose("it was released")
    if (!wasHeld) return
    await store
      .change((tx) => tx.leases.release(task.name, this.#token), { urgent: true })
      .catch((err: unknown) => logger.warn({ err }, `another process ${task.does} only a few seconds later`))
  }
}
