import { EngineError, type ObservedRun } from "#engine"
import type { RunRow } from "#store"
import { Bell } from "./bell.ts"
import type { Context } from "./context.ts"
import { fail, stopBecause, tearDown } from "./ending.ts"
import { Launch, NotJudged } from "./launch.ts"
import { reason, reasonOf, reasonOfEnd } from "./reasons.ts"
import { portOf } from "./spec.ts"

const firstPause = 250
const longestPause = 5_000

/**
 * The loop of one live run: does what the row's state asks for, until the run is over or Quayside
 * closes.
 */
export class Life {
  readonly id: number
  readonly key: string
  readonly #ctx: Context
  readonly #bell = new Bell()
  /**
   * Whether the engine may have been asked for it before the present attempt: then one looks before
   * one acts, and an engine out of reach is waited for.
   */
  #handedOver: boolean
  #launch: Launch | undefined
  #gone: { seen: ObservedRun | undefined } | undefined
  #startedAt: number | null = null
  #warned = false
  /** Resolves when the loop has ended; never rejects. */
  readonly done: Promise<void>

  constructor(ctx: Context, run: RunRow, handedOver: boolean) {
    this.#ctx = ctx
    this.id = run.id
    this.key = run.key
    this.#handedOver = handedOver
    this.done = this.#run()
  }

  /** The row changed. */
  changed(run: RunRow): void {
    if (run.state === "stopping") this.#launch?.abort(new EngineError("engine_error", "The run was stopped while it was being started"))
    this.#bell.ring()
  }

  /** Whether its container is known to have been there, so that its absence means something. */
  get holds(): boolean {
    return this.#launch?.started ?? this.#ctx.board.row(this.id)?.state === "ready"
  }

  get progress() {
    return this.#launch?.progress ?? null
  }

  /**
   * What the engine holds of the run; called only when `holds` was true before the engine was
   * asked.
   */
  observed(seen: ObservedRun | undefined): void {
    if (seen?.state === "running") this.#isUp(seen)
    else {
      this.#gone ??= { seen }
      // Before it is written that the run is over, which may take long: its address can be another
      // one's soon.
      this.#ctx.board.setAddress(this.id, undefined)
      this.#launch?.abort(new Gone())
      this.#bell.ring()
    }
  }

  #isUp(seen: ObservedRun): void {
    const run = this.#ctx.board.row(this.id)
    if (!run) return
    if (seen.oomKilled && !this.#warned) {
      this.#warned = true
      this.#ctx.events.warning(run, "A process of the run used more memory than the run has and was killed")
    }
    // An engine may tell of many at once before it knows when each of them began.
    const startedAt = seen.startedAt ?? this.#startedAt
    const restarted = this.#startedAt !== null && this.#startedAt !== startedAt
    this.#startedAt = startedAt
    if (restarted) this.#ctx.board.setAddress(this.id, undefined)
    if (run.state === "ready" && !this.#ctx.board.target(this.id)?.address) this.#bell.ring()
  }

  /** Hurries whatever waits for another attempt. */
  nudge(): void {
    this.#bell.ring()
  }

  async #run(): Promise<void> {
    const { board, closed, clock, logger } = this.#ctx
    let pause = firstPause
    for (let run = board.row(this.id); run && !closed.aborted; run = board.row(this.id)) {
      try {
        await this.#step(run)
        pause = firstPause
      } catch (error) {
        if (closed.aborted) return
        logger.warn({ err: error, run: this.id, state: run.state }, "a run is looked after again in a moment")
        await this.#bell.wait(clock, closed, pause)
        pause = Math.min(longestPause, pause * 2)
      }
    }
  }

  #step(run: RunRow): Promise<void> {
    switch (run.state) {
      case "queued":
        return this.#queue(run)
      case "pulling":
      case "creating":
      case "starting":
        return this.#bring(run, run.state)
      case "ready":
        return this.#keep(run)
      default:
        return tearDown(this.#ctx, run)
    }
  }

  async #queue(run: RunRow): Promise<void> {
    const left = run.createdAt + this.#ctx.settings.timeouts.queued - this.#ctx.clock.now()
    if (left > 0) return this.#bell.wait(this.#ctx.clock, this.#ctx.closed, left)
    await fail(this.#ctx, run, reason("timeout_queued"))
  }

  async #bring(run: RunRow, stage: "pulling" | "creating" | "starting"): Promise<void> {
    if (this.#gone) return stopBecause(this.#ctx, run, reasonOfEnd(this.#gone.seen))
    if (this.#handedOver && (await this.#hasExited(run))) return
    using launch = new Launch(this.#ctx, run, stage)
    this.#launch = launch
    const onClose = () => {
      if (launch.reached === "pulling" || launch.started) launch.abort(new Gone())
    }
    this.#ctx.closed.addEventListener("abort", onClose, { once: true })
    try {
      const outcome = await launch.go()
      if (outcome && !this.#ctx.closed.aborted) await this.#failed(run, launch, outcome.failure)
    } finally {
      this.#handedOver ||= launch.started
      this.#launch = undefined
      this.#ctx.closed.removeEventListener("abort", onClose)
    }
  }

  /** A program that ended while nobody looked is not started a second time. */
  async #hasExited(run: RunRow): Promise<boolean> {
    const seen = (await this.#ctx.engine.observe(this.#ctx.closed)).find(({ key }) => key === run.key)
    if (seen?.state !== "exited") return false
    await stopBecause(this.#ctx, run, reasonOfEnd(seen))
    return true
  }

  async #failed(run: RunRow, launch: Launch, failure: unknown): Promise<void> {
    if (this.#ctx.board.row(this.id)?.state === "stopping") return
    if (failure instanceof NotJudged) throw failure
    const unreachable = failure instanceof EngineError && failure.code === "engine_unreachable"
    if (unreachable && (this.#handedOver || launch.started)) throw failure
    const why = this.#gone ? reasonOfEnd(this.#gone.seen) : reasonOf(failure, this.#ctx.logger)
    const cleaned = failure instanceof EngineError && !launch.started && !launch.stuck && (!unreachable || launch.reached === "pulling")
    const isWithdrawn = why.code === "access_withdrawn"
    if (cleaned && !isWithdrawn) await fail(this.#ctx, run, why)
    else await stopBecause(this.#ctx, run, why)
  }

  async #keep(run: RunRow): Promise<void> {
    const { board, engine, clock, closed } = this.#ctx
    if (this.#gone) return stopBecause(this.#ctx, run, reasonOfEnd(this.#gone.seen))
    if (!board.target(this.id)?.address) board.setAddress(this.id, await engine.address(this.key, portOf(run), closed))
    await this.#bell.wait(clock, closed)
  }
}

/** The container is gone, or Quayside closes: nothing that the engine refused. */
class Gone extends Error {}
