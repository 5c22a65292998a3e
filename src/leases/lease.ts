import { randomBytes } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import type { Clock, Logger } from "#kit"
import type { Change, LeaseRow, Store } from "#store"

/**
 * The machine's clock, in milliseconds, whatever clock the rest of this process has: other
 * processes measure by it, too.
 */
const monotonicNow = () => performance.now()

/** The right to do a task. One process has it at a time. */
export interface Lease {
  /** Aborted once another process may have the right. */
  readonly lost: AbortSignal
  /** Measured by this process's clock, so it is right also after the process stood still. */
  isHeld(): boolean
  /** Throws a `LeaseLostError` in a transaction if another process took the right. */
  assertHeldIn(tx: Change): Promise<void>
}

/** Another process does the task, or may soon. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError"
}

/** The lease of a process that shares its database with no other. It is never lost. */
export function permanentLease(): Lease {
  return { lost: new AbortController().signal, isHeld: () => true, assertHeldIn: async () => {} }
}

export interface LeaseTimes {
  /** The holder renews the lease, and the others read it, this often. Default 1,000. */
  renewEveryMs: number
  /** The holder gives up this long after its last renewal. Default 4,000. */
  lostAfterMs: number
  /** Another process takes over after this long without a renewal. Default 6,000. */
  takenAfterMs: number
}
const defaultTimes: LeaseTimes = { renewEveryMs: 1_000, lostAfterMs: 4_000, takenAfterMs: 6_000 }

/** A task that one process of an installation does at a time. */
export interface LeasedTask {
  name: string
  /** The task in messages, after "this process": a verb and its object. */
  activity: string
}

export interface LeaseWatchOptions {
  store: Pick<Store, "change" | "leases">
  task: LeasedTask
  times?: Partial<LeaseTimes> | undefined
}

export interface LeaseKeeperOptions extends LeaseWatchOptions {
  /**
   * The address at which other processes reach the holder; empty (default) if they need not. This
   * process already listens there, so an earlier holder with this address has ended.
   */
  address?: string | undefined
  clock: Clock
  logger: Logger
}

/**
 * Finds out whether any process holds a lease. It compares no two clocks: it waits for a renewal
 * for longer than the holder itself would go on without one.
 */
export class LeaseWatch {
  readonly #options: LeaseWatchOptions
  #seen: { row: LeaseRow | undefined; at: number } | undefined

  constructor(options: LeaseWatchOptions) {
    this.#options = options
  }

  /** The row that was read last. */
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

/** Acquires the lease of a task when no other process holds it. */
export class LeaseAcquirer {
  readonly #options: LeaseKeeperOptions
  readonly #times: LeaseTimes
  readonly #watch: LeaseWatch
  readonly #holder = randomBytes(16).toString("hex")

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
    this.#times = { ...defaultTimes, ...options.times }
    this.#watch = new LeaseWatch(options)
  }

  /** Resolves when this process has the lease. Rejects with the signal's reason. */
  async acquire(closed: AbortSignal): Promise<HeldLease> {
    for (;;) {
      const held = await this.acquireUnlessHeld(closed)
      if (held) return held
      await this.#options.clock.sleep(this.#times.renewEveryMs, closed)
    }
  }

  /**
   * Like `tryAcquire`, repeated until the database answers. Rejects with the signal's reason.
   */
  async acquireUnlessHeld(closed: AbortSignal): Promise<HeldLease | undefined> {
    const { clock, logger, task } = this.#options
    for (let isTold = false; ; isTold = true) {
      closed.throwIfAborted()
      try {
        return await this.tryAcquire()
      } catch (err) {
        if (!closed.aborted && !isTold) logger.warn({ err }, `it is not known which process ${task.activity}`)
      }
      await clock.sleep(this.#times.renewEveryMs, closed)
    }
  }

  /** Undefined if another process holds the lease. Rejects if the database does not answer. */
  async tryAcquire(): Promise<HeldLease | undefined> {
    const { address = "" } = this.#options
    const isHeld = await this.#watch.isHeldByAnybody()
    const { row } = this.#watch
    return isHeld && (address === "" || row?.address !== address) ? undefined : this.#take(row)
  }

  /** The address of the last known holder; undefined if there is none. */
  get holderAddress(): string | undefined {
    const { row } = this.#watch
    return row === undefined || row.holder === "" ? undefined : row.address
  }

  /** Undefined if another process was quicker. */
  async #take(seen: LeaseRow | undefined): Promise<HeldLease | undefined> {
    const { store, task, address = "" } = this.#options
    const since = monotonicNow()
    const token = await store.change(async (tx) =>
      isDeepStrictEqual(await tx.leases.get(task.name), seen) ? tx.leases.take(task.name, { holder: this.#holder, address }) : undefined,
    )
    if (token === undefined) return undefined
    const lease = new HeldLease({ ...this.#options, times: this.#times }, { token, since })
    lease.startRenewing()
    return lease
  }
}

/** A lease of this process. Its disposal releases it. */
export class HeldLease implements Lease, AsyncDisposable {
  readonly #options: LeaseKeeperOptions & { times: LeaseTimes }
  readonly #token: number
  readonly #lost = new AbortController()
  readonly #released = new AbortController()
  /** Transactions that found this token: no other process can take the lease meanwhile. */
  readonly #verified = new WeakSet<object>()
  #renewing: Promise<void> = Promise.resolve()
  #lastRenewal: number

  constructor(options: LeaseKeeperOptions & { times: LeaseTimes }, { token, since }: { token: number; since: number }) {
    this.#options = options
    this.#token = token
    this.#lastRenewal = since
  }

  /** Renews the lease until it is released or lost. */
  startRenewing(): void {
    this.#renewing = this.#renewUntilReleased()
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  isHeld(): boolean {
    const { times } = this.#options
    if (monotonicNow() - this.#lastRenewal >= times.lostAfterMs) this.#lose("it could not be renewed in time")
    return !this.#lost.signal.aborted
  }

  async assertHeldIn(tx: Change): Promise<void> {
    if (!this.#verified.has(tx.group)) {
      const row = await tx.leases.get(this.#options.task.name)
      if (row?.token === this.#token) this.#verified.add(tx.group)
    }
    if (this.#verified.has(tx.group) && this.isHeld()) return
    this.#lose("another process took over")
    throw new LeaseLostError(`Another process ${this.#options.task.activity}`)
  }

  #lose(why: string): void {
    if (this.#lost.signal.aborted) return
    const { logger, task } = this.#options
    if (!this.#released.signal.aborted) logger.warn({ why }, `this process no longer ${task.activity}`)
    this.#lost.abort(new LeaseLostError(`This process no longer ${task.activity}: ${why}`))
  }

  /** Does not wait for a write: one that hangs must not hide that the time has passed. */
  async #renewUntilReleased(): Promise<void> {
    const { clock, times } = this.#options
    let renewal: Promise<void> | undefined
    while (!this.#released.signal.aborted && this.isHeld()) {
      renewal ??= this.#renew().finally(() => {
        renewal = undefined
      })
      await clock.sleep(times.renewEveryMs, this.#released.signal).catch(() => {})
    }
    await renewal
  }

  async #renew(): Promise<void> {
    const { store, logger, task } = this.#options
    const began = monotonicNow()
    try {
      const isHolder = await store.change((tx) => tx.leases.renew(task.name, this.#token), { urgent: true, first: true })
      if (isHolder) this.#lastRenewal = Math.max(this.#lastRenewal, began)
      else this.#lose("another process took over")
    } catch (err) {
      if (!this.#released.signal.aborted) logger.warn({ err }, `it was not recorded that this process ${task.activity}`)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { store, logger, task } = this.#options
    this.#released.abort()
    await this.#renewing
    const wasHeld = !this.#lost.signal.aborted
    this.#lose("it was released")
    if (!wasHeld) return
    await store
      .change((tx) => tx.leases.release(task.name, this.#token), { urgent: true })
      .catch((err: unknown) => logger.warn({ err }, `another process ${task.activity} only a few seconds later`))
  }
}
