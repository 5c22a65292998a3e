import { aborted } from "#kit"
import { type Lease, type LeasedTask, LeaseKeeper, type LeaseTimes, LeaseWatch, soleLease } from "#leases"
import type { RunsContext } from "../context.ts"
import { RouteKeeper } from "./route-keeper.ts"
import { Supervision, type SupervisionParts } from "./supervision.ts"

export interface SupervisionOptions {
  /**
   * `alone`: no other process has this database. `leased`: one of several processes at a time.
   * `never`: others do it. Default `alone`.
   */
  mode?: "alone" | "leased" | "never"
  /** Called when a turn begins, before anything is compared. A rejection gives the turn back. */
  onTurn?: () => Promise<void>
  leaseTimes?: Partial<LeaseTimes>
}

const task: LeasedTask = { name: "supervisor", does: "supervises the runs" }

/** Pause after a turn that could not begin. */
const failedTurnMs = 2_000

/** An answer of the API is this much ahead of what another process knows, at most. */
const routedWithinMs = 2_000
const routeLookMs = 20

/** The times in which this process supervises, and those in which it only follows. */
export class SupervisionTurns implements AsyncDisposable {
  readonly #ctx: RunsContext
  readonly #options: SupervisionOptions & Omit<SupervisionParts, "lease">
  readonly #routes: RouteKeeper
  readonly #watch: LeaseWatch
  #lease: Lease | undefined
  #current: Supervision | undefined
  /** Why the last turn could not begin. */
  #failure: string | undefined
  #running: Promise<void> = Promise.resolve()

  /** If this process is alone, its only turn begins here. */
  constructor(ctx: RunsContext, options: SupervisionOptions & Omit<SupervisionParts, "lease">) {
    this.#ctx = ctx
    this.#options = options
    this.#routes = new RouteKeeper(ctx, options.capacity)
    this.#watch = new LeaseWatch({ ...ctx, task, times: options.leaseTimes })
    if (this.#mode !== "alone") return
    this.#lease = soleLease()
    this.#current = new Supervision(ctx, { ...options, lease: this.#lease })
  }

  /** Undefined while another process supervises. */
  get current(): Supervision | undefined {
    return this.#current
  }

  /** Whether this process starts and ends runs; also true shortly before a turn begins. */
  get isInCharge(): boolean {
    return this.#lease?.isHeld() ?? false
  }

  /** The state of the supervision, in words; undefined if this process is alone. */
  async check(): Promise<{ ok: boolean; msg: string } | undefined> {
    if (this.#mode === "alone") return undefined
    if (this.#current) return { ok: true, msg: "This process looks after the runs" }
    if (this.#failure !== undefined) return { ok: false, msg: `This process cannot look after the runs: ${this.#failure}` }
    return (await this.#watch.isHeldByAnybody())
      ? { ok: true, msg: "Another process looks after the runs" }
      : { ok: false, msg: "No process looks after the runs: start one with the role supervisor" }
  }

  get #mode(): "alone" | "leased" | "never" {
    return this.#options.mode ?? "alone"
  }

  start(): void {
    if (this.#mode === "alone") this.#current?.supervisor.start()
    else this.#running = this.#mode === "never" ? this.#routes.run(this.#ctx.closed) : this.#takeTurns()
  }

  /**
   * Devices of containers in the last observation. Before the first one every device may be in use.
   */
  containerDevices(): ReadonlySet<string> {
    const all = () => new Set(this.#options.capacity.latest.flatMap(({ gpus }) => gpus.map(({ id }) => id)))
    return this.#current?.supervisor.containerDevices() ?? this.#routes.containerDevices ?? all()
  }

  /** Undefined if this process supervises, since it knows each address at once. */
  untilRouted(id: number): Promise<void> | undefined {
    const { runCache, clock, closed } = this.#ctx
    const isSettled = () => {
      const target = runCache.target(id)
      return !target || target.address !== undefined || target.state === "queued" || target.state === "stopping"
    }
    if (this.#current || isSettled()) return undefined
    const wait = async () => {
      for (let waited = 0; waited < routedWithinMs && !isSettled() && !closed.aborted; waited += routeLookMs)
        await clock.sleep(routeLookMs, closed).catch(() => {})
    }
    return wait()
  }

  async #takeTurns(): Promise<void> {
    const { closed, logger, clock, store } = this.#ctx
    const keeper = new LeaseKeeper({ store, clock, logger, task, times: this.#options.leaseTimes })
    while (!closed.aborted) {
      await this.#takeTurn(keeper).catch(async (err: unknown) => {
        if (closed.aborted) return
        this.#failure = err instanceof Error ? err.message : String(err)
        logger.error({ err }, "this process could not begin to supervise the runs; it tries again")
        await clock.sleep(failedTurnMs, closed).catch(() => {})
      })
    }
  }

  async #takeTurn(keeper: LeaseKeeper): Promise<void> {
    const { closed, logger } = this.#ctx
    const waiting = new AbortController()
    const following = this.#routes.run(AbortSignal.any([closed, waiting.signal]))
    const acquired = keeper.acquire(closed)
    await using lease = await acquired.finally(async () => {
      waiting.abort()
      await following
    })
    this.#lease = lease
    await this.#options.onTurn?.()
    await this.#options.rows.compare()
    await using supervision = new Supervision(this.#ctx, { ...this.#options, lease })
    this.#current = supervision
    this.#failure = undefined
    logger.info({}, "this process supervises the runs")
    supervision.supervisor.start()
    try {
      await aborted(AbortSignal.any([closed, lease.lost]))
    } finally {
      this.#current = undefined
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running
    await this.#current?.[Symbol.asyncDispose]()
  }
}
