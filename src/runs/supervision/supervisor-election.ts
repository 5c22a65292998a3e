import { aborted } from "#kit"
import { type Lease, LeaseAcquirer, type LeasedTask, type LeaseTimes, LeaseWatch, permanentLease } from "#leases"
import type { RunsContext } from "../context.ts"
import { RouteFollower } from "./route-follower.ts"
import { Supervision, type SupervisionParts } from "./supervision.ts"

export interface SupervisionOptions {
  /**
   * `alone`: no other process has this database. `leased`: one of several processes at a time.
   * `never`: others do it. Default `alone`.
   */
  mode?: "alone" | "leased" | "never"
  /** Whether this process admits runs: a gateway does not, and may not see nodes. Default true. */
  admitsRuns?: boolean
  /** Called before this process begins to supervise. If it rejects, the lease is released. */
  onElected?: () => Promise<void>
  leaseTimes?: Partial<LeaseTimes>
}

const task: LeasedTask = { name: "supervisor", activity: "supervises the runs" }

/** Pause after a supervision that could not begin. */
const retryMs = 2_000

/** How long a request waits for an address that another process knows already. */
const routedWithinMs = 2_000
const routeCheckMs = 20

/** Decides when this process supervises, and when it only follows. */
export class SupervisorElection implements AsyncDisposable {
  readonly #ctx: RunsContext
  readonly #options: SupervisionOptions & Omit<SupervisionParts, "lease">
  readonly #routes: RouteFollower
  readonly #watch: LeaseWatch
  #lease: Lease | undefined
  #current: Supervision | undefined
  /** Why the last supervision could not begin. */
  #failure: string | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(ctx: RunsContext, options: SupervisionOptions & Omit<SupervisionParts, "lease">) {
    this.#ctx = ctx
    this.#options = options
    this.#routes = new RouteFollower(ctx, options.admitsRuns === false ? undefined : options.capacity)
    this.#watch = new LeaseWatch({ ...ctx, task, times: options.leaseTimes })
  }

  /** If this process is alone, it supervises from here on. */
  resume(): void {
    if (this.#mode !== "alone") return
    this.#lease = permanentLease()
    this.#current = new Supervision(this.#ctx, { ...this.#options, lease: this.#lease })
    this.#current.resume()
  }

  /** Undefined while another process supervises. */
  get current(): Supervision | undefined {
    return this.#current
  }

  /** Whether this process may start and end runs; also true just before it begins to supervise. */
  get isLeader(): boolean {
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
    else this.#running = this.#mode === "never" ? this.#routes.run(this.#ctx.closed) : this.#campaign()
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
      for (let waited = 0; waited < routedWithinMs && !isSettled() && !closed.aborted; waited += routeCheckMs)
        await clock.sleep(routeCheckMs, closed).catch(() => {})
    }
    return wait()
  }

  /** Supervises whenever it has the lease, until Quayside closes. */
  async #campaign(): Promise<void> {
    const { closed, logger, clock, store } = this.#ctx
    const acquirer = new LeaseAcquirer({ store, clock, logger, task, times: this.#options.leaseTimes })
    while (!closed.aborted) {
      await this.#superviseOnce(acquirer).catch(async (err: unknown) => {
        if (closed.aborted) return
        this.#failure = err instanceof Error ? err.message : String(err)
        logger.error({ err }, "this process could not begin to supervise the runs; it tries again")
        await clock.sleep(retryMs, closed).catch(() => {})
      })
    }
  }

  async #superviseOnce(acquirer: LeaseAcquirer): Promise<void> {
    const { closed, logger } = this.#ctx
    const waiting = new AbortController()
    const following = this.#routes.run(AbortSignal.any([closed, waiting.signal]))
    const acquired = acquirer.acquire(closed)
    await using lease = await acquired.finally(async () => {
      waiting.abort()
      await following
    })
    this.#lease = lease
    await this.#options.onElected?.()
    await this.#options.rows.compare()
    await using supervision = new Supervision(this.#ctx, { ...this.#options, lease })
    supervision.resume()
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
