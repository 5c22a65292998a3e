import { EngineError, type ObservedRun } from "#engine"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { WakeSignal } from "../wake-signal.ts"
import { failRun, finishStop, stopWithReason } from "./ending.ts"
import { portOf } from "./engine-spec.ts"
import { LaunchAttempt, ReplanUnavailableError } from "./launch-attempt.ts"
import { createReason, reasonOfError, reasonOfExit } from "./reasons.ts"
import { publishStored } from "./transitions.ts"

const minRetryMs = 250
const maxRetryMs = 5_000

/**
 * The loop of one live run: does what the row's state requires until the run has ended or Quayside
 * closes.
 */
export class RunController {
  readonly id: number
  readonly key: string
  readonly #ctx: RunsContext
  readonly #signal = new WakeSignal()
  /**
   * Whether an earlier attempt may have called the engine. The engine is then observed first, and
   * awaited while unreachable.
   */
  #wasSubmitted: boolean
  #launch: LaunchAttempt | undefined
  #exit: { seen: ObservedRun | undefined } | undefined
  #startedAt: number | null = null
  #loop: Promise<void> = Promise.resolve()

  constructor(ctx: RunsContext, run: RunRow, { wasSubmitted }: { wasSubmitted: boolean }) {
    this.#ctx = ctx
    this.id = run.id
    this.key = run.key
    this.#wasSubmitted = wasSubmitted
  }

  /** Starts the loop. */
  start(): void {
    this.#loop = this.#run()
  }

  /** Resolves when the loop has ended; never rejects. */
  get done(): Promise<void> {
    return this.#loop
  }

  /** The row changed. */
  handleChange(run: RunRow): void {
    if (run.state === "stopping") this.#launch?.abort(new EngineError("engine_error", "The run was stopped while it was being started"))
    this.#signal.notify()
  }

  /** Whether its container is known to have existed, so that its absence means something. */
  get hasContainer(): boolean {
    return this.#launch?.isStarted ?? this.#ctx.runCache.row(this.id)?.state === "ready"
  }

  get progress() {
    return this.#launch?.progress ?? null
  }

  /**
   * The engine's container of the run. Called only when `hasContainer` was true before the
   * observation.
   */
  handleObservation(seen: ObservedRun | undefined): void {
    if (seen?.state === "running") this.#handleRunning(seen)
    else {
      this.#exit ??= { seen }
      // Before the end is written, which may take long: the address may soon be another run's.
      this.#ctx.runCache.setAddress(this.id, undefined)
      this.#launch?.abort(new ContainerGoneError())
      this.#signal.notify()
    }
  }

  #handleRunning(seen: ObservedRun): void {
    const run = this.#ctx.runCache.row(this.id)
    if (!run) return
    if (seen.oomKilled) this.#ctx.memoryWarnings.report(run, 1)
    // An engine may list containers before it knows when each of them started.
    const startedAt = seen.startedAt ?? this.#startedAt
    const isRestarted = this.#startedAt !== null && this.#startedAt !== startedAt
    this.#startedAt = startedAt
    if (isRestarted) {
      this.#ctx.runCache.setAddress(this.id, undefined)
      this.#ctx.usageStore.mark(run, "restart", "The run's container was started again")
    }
    if (run.state === "ready" && !this.#ctx.runCache.target(this.id)?.address) this.#signal.notify()
  }

  /** Retries at once what waits for another attempt. */
  wake(): void {
    this.#signal.notify()
  }

  async #run(): Promise<void> {
    const { runCache, closed, clock, logger } = this.#ctx
    let pauseMs = minRetryMs
    let mayBeStale = false
    for (let run = runCache.row(this.id); run && !closed.aborted; run = runCache.row(this.id)) {
      try {
        if (mayBeStale) await this.#readStoredRow()
        else await this.#step(run)
        mayBeStale = false
        pauseMs = minRetryMs
      } catch (error) {
        if (closed.aborted) return
        logger.warn({ err: error, run: this.id, state: run.state }, "the controller of a run failed and retries")
        await this.#signal.wait(clock, closed, pauseMs)
        pauseMs = Math.min(maxRetryMs, pauseMs * 2)
        mayBeStale ||= !(error instanceof EngineError)
      }
    }
  }

  /** The answer of a COMMIT may have been lost, and a run that has ended is not started again. */
  async #readStoredRow(): Promise<void> {
    publishStored(this.#ctx, this.id, await this.#ctx.store.runs.get(this.id))
  }

  #step(run: RunRow): Promise<void> {
    switch (run.state) {
      case "queued":
        return this.#waitInQueue(run)
      case "pulling":
      case "creating":
      case "starting":
        return this.#launchRun(run, run.state)
      case "ready":
        return this.#watchReady(run)
      default:
        return finishStop(this.#ctx, run)
    }
  }

  async #waitInQueue(run: RunRow): Promise<void> {
    const left = run.createdAt + this.#ctx.settings.timeoutsMs.queued - this.#ctx.clock.now()
    if (left > 0) return this.#signal.wait(this.#ctx.clock, this.#ctx.closed, left)
    await failRun(this.#ctx, run, createReason("timeout_queued"))
  }

  async #launchRun(run: RunRow, state: "pulling" | "creating" | "starting"): Promise<void> {
    if (this.#exit) return stopWithReason(this.#ctx, run, reasonOfExit(this.#exit.seen, run))
    if (this.#wasSubmitted && (await this.#stopIfOver(run))) return
    using launch = new LaunchAttempt(this.#ctx, run, state)
    this.#launch = launch
    const onClose = () => {
      if (launch.state === "pulling" || launch.isStarted) launch.abort(new ContainerGoneError())
    }
    this.#ctx.closed.addEventListener("abort", onClose, { once: true })
    try {
      const outcome = await launch.run()
      if (outcome && !this.#ctx.closed.aborted) await this.#handleFailure(run, launch, outcome.failure)
    } finally {
      this.#wasSubmitted ||= launch.isStarted
      this.#launch = undefined
      this.#ctx.closed.removeEventListener("abort", onClose)
    }
  }

  /**
   * A program that exited unobserved is not started a second time. Nor is one whose device another
   * container has: a restored database is older than its end.
   */
  async #stopIfOver(run: RunRow): Promise<boolean> {
    const observed = await this.#ctx.engine.observe(this.#ctx.closed)
    const seen = observed.find(({ key }) => key === run.key)
    const others = observed.filter(({ key, state }) => key !== run.key && state !== "exited")
    const isTaken = others.some(({ gpuDevices }) => gpuDevices.some((device) => run.gpuDevices.includes(device)))
    if (seen?.state !== "exited" && (seen?.state === "running" || !isTaken)) return false
    await stopWithReason(this.#ctx, run, reasonOfExit(seen, run))
    return true
  }

  async #handleFailure(run: RunRow, launch: LaunchAttempt, failure: unknown): Promise<void> {
    if (this.#ctx.runCache.row(this.id)?.state === "stopping") return
    if (failure instanceof ReplanUnavailableError) throw failure
    const isUnreachable = failure instanceof EngineError && failure.code === "engine_unreachable"
    if (isUnreachable && (this.#wasSubmitted || launch.isStarted)) throw failure
    // An engine that is slow may report an exit after the deadline that the exit caused.
    if (launch.isStarted && !this.#exit && (await this.#stopIfOver(run).catch(() => false))) return
    const reason = this.#exit ? reasonOfExit(this.#exit.seen, run) : reasonOfError(failure, this.#ctx.logger)
    // A start that ends before the engine is asked leaves what an earlier process had started. A
    // canceled one may leave a container, if the engine cannot be reached to remove it.
    const isCleanedUp =
      failure instanceof EngineError &&
      !this.#wasSubmitted &&
      !launch.isStarted &&
      !launch.isStuck &&
      ((!isUnreachable && !launch.isAborted) || launch.state === "pulling")
    const isWithdrawn = reason.code === "access_withdrawn"
    if (isCleanedUp && !isWithdrawn) await failRun(this.#ctx, run, reason)
    else await stopWithReason(this.#ctx, run, reason)
  }

  async #watchReady(run: RunRow): Promise<void> {
    const { runCache, engine, clock, closed } = this.#ctx
    if (this.#exit) return stopWithReason(this.#ctx, run, reasonOfExit(this.#exit.seen, run))
    if (!runCache.target(this.id)?.address) runCache.setAddress(this.id, await engine.address(this.key, portOf(run), closed))
    await this.#signal.wait(clock, closed)
  }
}

/** The container is gone, or Quayside closes: not an error of the engine. */
class ContainerGoneError extends Error {}
