import { isLive, type Progress } from "#contract"
import { EngineError, type ObservedRun } from "#engine"
import type { RunRow } from "#store"
import type { CapacityCache } from "../admission/capacity-cache.ts"
import { startQueuedRuns } from "../admission/queue.ts"
import type { RunsContext } from "../context.ts"
import { GpuWatch } from "../limits/gpu-watch.ts"
import { gapAfterMs } from "../supervision/observation-gap.ts"
import type { RowFollower } from "../supervision/row-follower.ts"
import { WakeSignal } from "../wake-signal.ts"
import { adoptContainer } from "./adoption.ts"
import { RunController } from "./run-controller.ts"

/**
 * Compares desired and observed state, whenever the engine reports a change and every few seconds.
 */
export class Supervisor {
  readonly #ctx: RunsContext
  readonly #capacity: CapacityCache
  readonly #rows: RowFollower
  readonly #controllers = new Map<number, RunController>()
  readonly #newRuns = new Set<number>()
  readonly #orphans = new Map<string, { seen: ObservedRun; since: number }>()
  readonly #gpuWatch: GpuWatch
  /** The devices of each container, by key; undefined before the first observation. */
  #containerDevices: Map<string, readonly string[]> | undefined
  readonly #removals = new Map<string, Promise<void>>()
  readonly #signal = new WakeSignal()
  #reachable = true
  #loops: Promise<unknown> = Promise.resolve()

  constructor(ctx: RunsContext, { capacity, rows }: { capacity: CapacityCache; rows: RowFollower }) {
    this.#ctx = ctx
    this.#capacity = capacity
    this.#rows = rows
    this.#gpuWatch = new GpuWatch(ctx)
  }

  start(): void {
    this.#loops = Promise.all([this.#loop(), this.#ctx.engine.watch(() => this.scheduleObservation(), this.#ctx.closed)])
    this.#loops.catch((error) => this.#ctx.logger.error({ err: error }, "the supervisor of runs ended"))
  }

  /** Resolves when all work has ended. Called after `closed` has been aborted. */
  async waitUntilClosed(): Promise<void> {
    await Promise.allSettled([
      this.#loops,
      ...[...this.#controllers.values()].map((controller) => controller.done),
      ...this.#removals.values(),
    ])
  }

  scheduleObservation(): void {
    this.#signal.notify()
  }

  /** Marks a new run, for which the engine was never called. */
  markNew(run: RunRow): void {
    if (run.state === "pulling") this.#newRuns.add(run.id)
  }

  /** Called after the commit of a change, when the cache has the new row. */
  handleChange(run: RunRow): void {
    const existing = this.#controllers.get(run.id)
    if (!isLive(run.state)) {
      this.#controllers.delete(run.id)
      if (run.startTime !== null) this.#containerDevices?.delete(run.key)
      existing?.handleChange(run)
      this.#signal.notify()
    } else if (existing) existing.handleChange(run)
    else if (!this.#ctx.closed.aborted) {
      const isNew = this.#newRuns.delete(run.id) || run.state === "queued"
      const controller = new RunController(this.#ctx, run, { wasSubmitted: !isNew })
      this.#controllers.set(run.id, controller)
      controller.start()
    }
  }

  /** Retries at once what the run waits for. */
  wake(id: number): void {
    this.#controllers.get(id)?.wake()
  }

  progressOf(id: number): Progress | null {
    return this.#controllers.get(id)?.progress ?? null
  }

  /**
   * Devices of containers in the last observation, also of those whose runs have ended according to
   * their rows. Before the first one every device may be in use.
   */
  containerDevices(): Set<string> {
    if (!this.#containerDevices) return new Set(this.#capacity.latest.flatMap(({ gpus }) => gpus.map(({ id }) => id)))
    return new Set([...this.#containerDevices.values()].flat())
  }

  async #loop(): Promise<void> {
    const { clock, closed, settings } = this.#ctx
    while (!closed.aborted) {
      await this.#attempt("rows", () => this.#rows.compareIfDue())
      const beganAt = clock.monotonic()
      await this.#attempt("engine", () => this.#compareWithEngine())
      const gapMs = gapAfterMs(clock.monotonic() - beganAt)
      if (this.#reachable && this.#containerDevices)
        await this.#attempt("queue", () => startQueuedRuns(this.#ctx, this.#capacity, this.containerDevices()))
      await clock.sleep(gapMs, closed).catch(() => {})
      await this.#signal.wait(clock, closed, settings.observeEveryMs)
    }
  }

  async #attempt(part: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (this.#ctx.closed.aborted) return
      if (error instanceof EngineError && error.code === "engine_unreachable") this.#setReachable(false)
      else this.#ctx.logger.error({ err: error, part }, "runs were not compared with the engine; retrying")
    }
  }

  #setReachable(reachable: boolean): void {
    if (this.#reachable === reachable) return
    this.#reachable = reachable
    if (reachable) this.#ctx.logger.info({}, "the container engine can be reached again")
    else this.#ctx.logger.warn({}, "the container engine cannot be reached; states stay as they are until it can")
    if (reachable) for (const controller of this.#controllers.values()) controller.wake()
  }

  async #compareWithEngine(): Promise<void> {
    const { runCache } = this.#ctx
    const owners = [...this.#controllers.values()].filter((controller) => controller.hasContainer)
    // A run that ends during the observation may still be in the result. The container of a queued
    // run is newer than the database, and nothing has removed it.
    const live = new Set(runCache.targets().map(({ key }) => key))
    const admitted = new Set(runCache.rows().flatMap(({ key, state }) => (state === "queued" ? [] : [key])))
    const observed = new Map((await this.#ctx.engine.observe(this.#ctx.closed)).map((seen) => [seen.key, seen]))
    this.#setReachable(true)
    const hasEnded = (key: string) => admitted.has(key) && !runCache.targetByKey(key)
    this.#containerDevices = new Map([...observed].flatMap(([key, seen]) => (hasEnded(key) ? [] : [[key, seen.gpuDevices]])))
    for (const controller of owners) controller.handleObservation(observed.get(controller.key))
    for (const key of this.#orphans.keys()) if (!observed.has(key) || runCache.targetByKey(key)) this.#orphans.delete(key)
    for (const seen of observed.values()) {
      if (!live.has(seen.key) && !runCache.targetByKey(seen.key)) await this.#handleUnknown(seen)
      else if (seen.gpuDevices.length > 0 && this.#isQueued(seen.key)) this.#remove(seen.key, "a container of a queued run holds GPUs")
    }
    await this.#capacity.refreshIfStale()
    this.#gpuWatch.check(this.#capacity.latest)
  }

  /** A restored database may queue a run that already has a container. */
  #isQueued(key: string): boolean {
    const target = this.#ctx.runCache.targetByKey(key)
    return target !== undefined && this.#ctx.runCache.row(target.id)?.state === "queued"
  }

  /**
   * A container whose run has ended is a leftover. One without a row may belong to a newer state of
   * a restored database. It is adopted, or else reported and stopped after a grace period.
   */
  async #handleUnknown(seen: ObservedRun): Promise<void> {
    const { runCache, clock, logger, settings, store } = this.#ctx
    const run = await store.runs.byKey(seen.key)
    if (run && isLive(run.state)) return runCache.publish(run)
    const orphan = this.#orphans.get(seen.key)
    if (run) this.#remove(seen.key, "a container of an ended run still exists")
    else if (!orphan) {
      if (await adoptContainer(this.#ctx, seen)) return
      this.#orphans.set(seen.key, { seen, since: clock.now() })
      logger.warn(
        { key: seen.key, run: seen.run, project: seen.project, user: seen.user },
        "a container belongs to no run and cannot be adopted; it is stopped after a grace period",
      )
    } else if (clock.now() - orphan.since >= settings.orphanGraceMs) this.#remove(seen.key, "a container belonged to no run")
  }

  #remove(key: string, message: string): void {
    if (this.#removals.has(key)) return
    const { engine, logger, settings, closed } = this.#ctx
    this.#ctx.assertLeader()
    logger.warn({ key }, `${message}; stopping it`)
    const removal = engine
      .stop(key, { graceMs: settings.graceMs, signal: closed })
      .catch((error) => logger.warn({ err: error, key }, "stopping a container without a run failed; retrying"))
      .finally(() => this.#removals.delete(key))
    this.#removals.set(key, removal)
  }
}
