import { isDeepStrictEqual } from "node:util"
import { type Progress, reasonSentences } from "#contract"
import { type Address, EngineError, type Mount, type StartResult, type StartStep } from "#engine"
import { IdleTimeout } from "#kit"
import type { RunRow } from "#store"
import type { Context } from "./context.ts"
import { diskBoundOf } from "./limits.ts"
import { move } from "./moves.ts"
import type { ProbeResult } from "./probe.ts"
import { ProgressTeller } from "./progress.ts"
import { untilReady } from "./readiness.ts"
import { mountsOf, portOf, specOf } from "./spec.ts"
import { type Facts, launchPath, type Stage, StageWriter } from "./stages.ts"

/** One attempt to bring a run from where its row stands to `ready`. */
export class Launch implements Disposable {
  readonly #ctx: Context
  #run: RunRow
  readonly #cut = new AbortController()
  readonly #idleTimeout: IdleTimeout
  readonly #writer: StageWriter
  readonly #teller: ProgressTeller
  #stage: Stage
  #found: ProbeResult | undefined
  #started = false
  #stuck = false

  constructor(ctx: Context, run: RunRow, stage: Stage) {
    this.#ctx = ctx
    this.#run = run
    this.#stage = stage
    this.#writer = new StageWriter(ctx, run.id)
    this.#teller = new ProgressTeller(ctx, run)
    this.#idleTimeout = new IdleTimeout(ctx.clock, () => this.#cut.abort(this.#tooLate()))
    this.#idleTimeout.start(ctx.settings.timeouts[stage])
  }

  /** How far it came. From `creating` on, nobody but the engine knows what it holds of the run. */
  get reached(): Stage {
    return this.#stage
  }

  /** Whether the engine did not let go of a start that was cut short. */
  get stuck(): boolean {
    return this.#stuck
  }

  /** Whether `Engine.start` has resolved, so that the container is this process's to judge. */
  get started(): boolean {
    return this.#started
  }

  get progress(): Progress | null {
    return this.#teller.progress
  }

  /** Ends the attempt: `go` resolves with this reason once the engine has let go. */
  abort(reason: unknown): void {
    this.#cut.abort(reason)
  }

  /**
   * Resolves with why the start failed, or with nothing when `ready` is committed or the run has
   * left this path. Rejects when the database cannot be written.
   */
  async go(): Promise<{ failure: unknown } | undefined> {
    const outcome = await this.#bring().catch((error: unknown) => ({ failure: this.#cut.signal.aborted ? this.#cut.signal.reason : error }))
    await this.#writer.flush()
    if ("failure" in outcome) return outcome
    const now = this.#ctx.clock.now()
    await move(this.#ctx, this.#run.id, { path: launchPath, fields: { readyTime: now, lastActivity: now }, address: outcome })
    return undefined
  }

  async #bring(): Promise<Address> {
    if (this.#stage === "pulling") {
      await this.#revise()
      await this.#patiently(this.#prepare())
    }
    const [imagePolicy, diskMiB] = await Promise.all([
      this.#ctx.imagePolicy(this.#run),
      diskBoundOf(this.#ctx.store, this.#run.userId, this.#ctx.settings.defaultLimits),
    ])
    const spec = { ...specOf(this.#run), imagePolicy, diskMiB }
    const resolveMounts = () => this.#resolveMounts()
    const started = await this.#patiently(this.#ctx.engine.start(spec, (step) => this.#report(step), this.#cut.signal, resolveMounts))
    this.#started = true
    this.#enter("starting")
    // The program's own time begins now, however long the engine took to start it.
    this.#idleTimeout.start(this.#ctx.settings.timeouts.starting)
    this.#writer.want("starting", factsOf(started, this.#ctx))
    const found = (result: ProbeResult) => {
      this.#found = result
    }
    return untilReady(this.#ctx, this.#run, { found, signal: AbortSignal.any([this.#cut.signal, this.#ctx.closed]) })
  }

  /**
   * Judges the plan by the rights of now, and writes down where less of it is allowed. Rejects with
   * what ends the run.
   */
  async #revise(): Promise<void> {
    const { id, spec } = this.#run
    const revised = await this.#ctx.revise(this.#ctx.store, this.#run).catch((cause: unknown) => {
      throw new NotJudged("The rights of a run could not be read", { cause })
    })
    if ("refusal" in revised) throw new EngineError(revised.refusal.code, revised.refusal.msg)
    if (isDeepStrictEqual(revised.plan, spec)) return
    this.#run = { ...this.#run, spec: revised.plan }
    await this.#ctx.store.change(async (tx) => {
      const moved = await tx.runs.move(id, ["pulling", "creating", "starting"], { spec: revised.plan })
      if (moved) tx.afterCommit(() => this.#ctx.board.publish(moved))
    })
  }

  /**
   * Asked by the engine when nothing is left to wait for: fetching an image may have taken hours.
   */
  async #resolveMounts(): Promise<Mount[]> {
    await this.#revise()
    return mountsOf(this.#run.spec)
  }

  /** Long before the engine knows of the run: a failure leaves nothing there. */
  #prepare(): Promise<void> {
    const report = (progress: Progress) => this.#report({ state: "pulling", progress })
    return this.#ctx.prepare(this.#run, { report, signal: this.#cut.signal })
  }

  /**
   * An engine cleans up when a start is cut short, and is waited for; one that never lets go must
   * not keep the run from being stopped.
   */
  #patiently<T>(starting: Promise<T>): Promise<T> {
    const { clock, settings } = this.#ctx
    const over = new AbortController()
    const stuck = new Promise<never>((_, reject) => {
      const onCut = () => {
        clock.sleep(settings.timeouts.stopping, over.signal).then(() => {
          this.#stuck = true
          reject(this.#cut.signal.reason)
        }, ignore)
      }
      this.#cut.signal.addEventListener("abort", onCut, { once: true, signal: over.signal })
    })
    return Promise.race([starting, stuck]).finally(() => over.abort())
  }

  #report({ state, progress }: StartStep): void {
    if (this.#started || this.#cut.signal.aborted) return
    this.#enter(state)
    this.#writer.want(state)
    if (this.#teller.tell(progress)) this.#idleTimeout.refresh()
  }

  #enter(stage: Stage): void {
    if (launchPath.indexOf(stage) <= launchPath.indexOf(this.#stage)) return
    this.#stage = stage
    this.#idleTimeout.start(this.#ctx.settings.timeouts[stage])
  }

  #tooLate(): EngineError {
    const found = this.#found
    if (!found || found.ready) return new EngineError(`timeout_${this.#stage}`, reasonSentences[`timeout_${this.#stage}`])
    return new EngineError(found.code, `${reasonSentences[found.code]}${found.code === "not_answering" ? `: ${found.said}` : this.#port()}`)
  }

  #port(): string {
    return `, ${portOf(this.#run)}; a program that listens on 127.0.0.1 alone is not reached`
  }

  [Symbol.dispose](): void {
    this.#idleTimeout[Symbol.dispose]()
  }
}

/**
 * The database did not answer whether the run is allowed: the start is taken back, and tried again.
 */
export class NotJudged extends Error {}

/**
 * With placement by Quayside, nodes and devices are what admission handed out, whatever the engine
 * calls them.
 */
function factsOf({ imageDigest, nodeNames, gpuDevices }: StartResult, { engine }: Context): Facts {
  return engine.placement === "engine" ? { imageDigest, nodeNames, gpuDevices } : { imageDigest }
}

function ignore(): void {}
