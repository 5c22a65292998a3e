import { EngineError, type ObservedRun } from "#engine"
import type { CapacityCache } from "../admission/capacity-cache.ts"
import type { RunsContext } from "../context.ts"
import { portOf } from "../lifecycle/engine-spec.ts"
import { WakeSignal } from "../wake-signal.ts"
import { gapAfterMs } from "./observation-gap.ts"

/** Longest time between two observations, if the engine reports nothing. */
const observeEveryMs = 30_000

/**
 * Keeps the addresses of ready runs current in a process that does not supervise. It observes the
 * engine and changes nothing there.
 */
export class RouteFollower {
  readonly #ctx: RunsContext
  readonly #capacity: CapacityCache | undefined
  readonly #startedAt = new Map<string, number | null>()
  #containerDevices: ReadonlySet<string> | undefined

  /** Without a capacity, none is kept current. */
  constructor(ctx: RunsContext, capacity: CapacityCache | undefined) {
    this.#ctx = ctx
    this.#capacity = capacity
  }

  /** The devices of containers; undefined before the first observation. */
  get containerDevices(): ReadonlySet<string> | undefined {
    return this.#containerDevices
  }

  /** Follows until the signal is aborted. */
  async run(closed: AbortSignal): Promise<void> {
    const { engine, clock, logger, runCache } = this.#ctx
    const signal = new WakeSignal()
    using _ = runCache.onChange(({ state }) => {
      if (state === "ready") signal.notify()
    })
    const watching = engine.watch(() => signal.notify(), closed)
    watching.catch((err: unknown) => closed.aborted || logger.error({ err }, "the engine's events are not received"))
    let isReachable = true
    while (!closed.aborted) {
      const beganAt = clock.monotonic()
      const failure = await this.#update(closed).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (failure !== undefined && isReachable && !closed.aborted)
        logger.warn({ err: failure }, "the addresses of runs cannot be refreshed and stay as they are")
      isReachable = failure === undefined
      await clock.sleep(gapAfterMs(clock.monotonic() - beganAt), closed).catch(() => {})
      await signal.wait(clock, closed, isReachable ? observeEveryMs : this.#ctx.settings.observeEveryMs)
    }
    await watching.catch(() => {})
    this.#containerDevices = undefined
    this.#startedAt.clear()
  }

  async #update(closed: AbortSignal): Promise<void> {
    const { engine, runCache } = this.#ctx
    const ready = runCache.rows().filter(({ state }) => state === "ready")
    const observed = new Map((await engine.observe(closed)).map((seen) => [seen.key, seen]))
    this.#containerDevices = new Set([...observed.values()].flatMap(({ gpuDevices }) => gpuDevices))
    for (const key of this.#startedAt.keys()) if (!observed.has(key)) this.#startedAt.delete(key)
    for (const run of ready) {
      const seen = observed.get(run.key)
      if (seen?.state !== "running") runCache.setAddress(run.id, undefined)
      else if (this.#isRestarted(seen) || !runCache.target(run.id)?.address) {
        const address = await engine.address(run.key, portOf(run), closed).catch(ignoreEngineError)
        runCache.setAddress(run.id, address)
        if (address) this.#startedAt.set(run.key, seen.startedAt)
      }
    }
    await this.#capacity?.refreshIfStale().catch(ignoreEngineError)
  }

  /**
   * Also true of a container whose start this process has not seen: it may have learned the address
   * when it still supervised. An engine may list containers before it knows when each one started.
   */
  #isRestarted({ key, startedAt }: ObservedRun): boolean {
    const before = this.#startedAt.get(key)
    return before === undefined || (before !== null && startedAt !== null && before !== startedAt)
  }
}

function ignoreEngineError(error: unknown): undefined {
  if (!(error instanceof EngineError)) throw error
}
