import { isLive, type Progress } from "#contract"
import { EngineError, type ObservedRun } from "#engine"
import type { RunRow } from "#store"
import { adopt } from "./adopt.ts"
import { Bell } from "./bell.ts"
import { Capacity } from "./capacity.ts"
import type { Context } from "./context.ts"
import { Life } from "./life.ts"
import { serveQueue } from "./queue.ts"

/** Between two looks at the engine, however often it calls. */
const shortestGap = 50

/**
 * Compares what is wanted with what the engine holds, whenever the engine says that something
 * changed and every few seconds.
 */
export class Supervisor {
  readonly capacity: Capacity
  readonly #ctx: Context
  readonly #lives = new Map<number, Life>()
  readonly #fresh = new Set<number>()
  readonly #strays = new Map<string, { seen: ObservedRun; since: number }>()
  readonly #ending = new Map<string, Promise<void>>()
  readonly #bell = new Bell()
  #syncedAt = Number.NEGATIVE_INFINITY
  #reachable = true
  #loops: Promise<unknown> = Promise.resolve()

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.capacity = new Capacity(ctx)
  }

  begin(): void {
    this.#loops = Promise.all([this.#loop(), this.#ctx.engine.watch(() => this.observeSoon(), this.#ctx.closed)])
    this.#loops.catch((error) => this.#ctx.logger.error({ err: error }, "the supervisor of runs ended"))
  }

  /** Resolves when nothing is done any more; `closed` has been aborted before. */
  async end(): Promise<void> {
    await Promise.allSettled([this.#loops, ...[...this.#lives.values()].map((life) => life.done), ...this.#ending.values()])
  }

  observeSoon(): void {
    this.#bell.ring()
  }

  /** The engine was never asked for this run, which has just been made. */
  isFresh(run: RunRow): void {
    if (run.state === "pulling") this.#fresh.add(run.id)
  }

  /** A committed change of a run; the board has it already. */
  published(run: RunRow): void {
    const life = this.#lives.get(run.id)
    if (!isLive(run.state)) {
      this.#lives.delete(run.id)
      life?.changed(run)
      this.#bell.ring()
    } else if (life) life.changed(run)
    else if (!this.#ctx.closed.aborted) {
      const fresh = this.#fresh.delete(run.id) || run.state === "queued"
      this.#lives.set(run.id, new Life(this.#ctx, run, !fresh))
    }
  }

  /** Hurries whatever the run waits for. */
  nudge(id: number): void {
    this.#lives.get(id)?.nudge()
  }

  progressOf(id: number): Progress | null {
    return this.#lives.get(id)?.progress ?? null
  }

  /** Devices of containers that no row knows. */
  takenDevices(): Set<string> {
    return new Set([...this.#strays.values()].flatMap(({ seen }) => seen.gpuDevices))
  }

  async #loop(): Promise<void> {
    const { clock, closed, settings } = this.#ctx
    while (!closed.aborted) {
      await this.#attempt("rows", () => this.#sync())
      await this.#attempt("engine", () => this.#look())
      if (this.#reachable) await this.#attempt("queue", () => serveQueue(this.#ctx, this.capacity, this.takenDevices()))
      await clock.sleep(shortestGap, closed).catch(() => {})
      await this.#bell.wait(clock, closed, settings.observeEvery)
    }
  }

  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (this.#ctx.closed.aborted) return
      if (error instanceof EngineError && error.code === "engine_unreachable") this.#setReachable(false)
      else this.#ctx.logger.error({ err: error, what }, "runs were not compared with the engine; it is tried again")
    }
  }

  #setReachable(reachable: boolean): void {
    if (this.#reachable === reachable) return
    this.#reachable = reachable
    if (reachable) this.#ctx.logger.info({}, "the container engine can be reached again")
    else this.#ctx.logger.warn({}, "the container engine cannot be reached; states stay as they are until it can")
    if (reachable) for (const life of this.#lives.values()) life.nudge()
  }

  /** Takes in what other processes wrote. */
  async #sync(): Promise<void> {
    const { board, clock, settings, store } = this.#ctx
    if (clock.now() - this.#syncedAt < settings.observeEvery) return
    this.#syncedAt = clock.now()
    const versions = await store.runs.liveVersions()
    const changed = [...versions].filter(([id, version]) => (board.row(id)?.version ?? 0) < version).map(([id]) => id)
    const over = board.rows().flatMap(({ id }) => (versions.has(id) ? [] : [id]))
    for (const id of [...changed, ...over]) {
      const run = await store.runs.get(id)
      if (run) board.publish(run)
    }
  }

  async #look(): Promise<void> {
    const { board } = this.#ctx
    const judged = [...this.#lives.values()].filter((life) => life.holds)
    // What ends while the engine is asked may still stand in its answer.
    const live = new Set(board.targets().map(({ key }) => key))
    const observed = new Map((await this.#ctx.engine.observe(this.#ctx.closed)).map((seen) => [seen.key, seen]))
    this.#setReachable(true)
    for (const life of judged) life.observed(observed.get(life.key))
    for (const key of this.#strays.keys()) if (!observed.has(key) || board.targetByKey(key)) this.#strays.delete(key)
    for (const seen of observed.values()) {
      if (!live.has(seen.key) && !board.targetByKey(seen.key)) await this.#unknown(seen)
    }
    await this.capacity.refreshWhenOld()
  }

  /**
   * A container whose run is over is a leftover; one without a row may belong to a database that
   * was put back: it is taken up, or, where that cannot be, people get time to see it.
   */
  async #unknown(seen: ObservedRun): Promise<void> {
    const { board, clock, logger, settings, store } = this.#ctx
    const run = await store.runs.byKey(seen.key)
    if (run && isLive(run.state)) return board.publish(run)
    const stray = this.#strays.get(seen.key)
    if (run) this.#remove(seen.key, "a container was left over from a run that is over")
    else if (!stray) {
      if (await adopt(this.#ctx, seen)) return
      this.#strays.set(seen.key, { seen, since: clock.now() })
      logger.warn(
        { key: seen.key, run: seen.run, project: seen.project, user: seen.user },
        "a container belongs to no run and cannot be taken up; it is stopped in a while",
      )
    } else if (clock.now() - stray.since >= settings.strayGrace) this.#remove(seen.key, "a container belonged to no run")
  }

  #remove(key: string, why: string): void {
    if (this.#ending.has(key)) return
    const { engine, logger, settings, closed } = this.#ctx
    logger.warn({ key }, `${why}; it is stopped`)
    const ending = engine
      .stop(key, { graceMs: settings.graceMs, signal: closed })
      .catch((error) => logger.warn({ err: error, key }, "it could not be stopped yet"))
      .finally(() => this.#ending.delete(key))
    this.#ending.set(key, ending)
  }
}
