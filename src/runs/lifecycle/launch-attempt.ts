import { isDeepStrictEqual } from "node:util"
import { type Progress, reasonMessages } from "#contract"
import { EngineError, type ImageInfo, type ResolveSpec, type RunAddress, type StartResult, type StartStep } from "#engine"
import { IdleTimeout } from "#kit"
import type { RunRow } from "#store"
import type { ReplanResult, RunsContext } from "../context.ts"
import { maxDiskMiBPerRun } from "../limits/effective-limits.ts"
import type { ProbeResult } from "../readiness/probe.ts"
import { responseFault, type StartFault, unknownPortFault } from "../readiness/start-fault.ts"
import { watchStartup } from "../readiness/startup-watch.ts"
import { waitUntilReady } from "../readiness/wait-until-ready.ts"
import { engineSpecOf, portOf, withImagePort } from "./engine-spec.ts"
import { type ContainerDetails, type LaunchState, LaunchStateWriter, launchStates } from "./launch-states.ts"
import { ProgressReporter } from "./progress-reporter.ts"

/** One attempt to bring a run from its stored state to `ready`. */
export class LaunchAttempt implements Disposable {
  readonly #ctx: RunsContext
  #run: RunRow
  readonly #controller = new AbortController()
  readonly #idleTimeout: IdleTimeout
  readonly #startTimeout: IdleTimeout
  readonly #writer: LaunchStateWriter
  readonly #progress: ProgressReporter
  #state: LaunchState
  #lastProbe: ProbeResult | undefined
  #portFault: StartFault = unknownPortFault
  #registryDigest: string | undefined
  #started = false
  #stuck = false

  constructor(ctx: RunsContext, run: RunRow, state: LaunchState) {
    this.#ctx = ctx
    this.#run = run
    this.#state = state
    this.#writer = new LaunchStateWriter(ctx, { id: run.id, state })
    this.#progress = new ProgressReporter(ctx, run)
    const onTimeout = () => this.#controller.abort(this.#timeoutError())
    this.#idleTimeout = new IdleTimeout(ctx.clock, onTimeout)
    this.#startTimeout = new IdleTimeout(ctx.clock, onTimeout)
  }

  /** The state reached. From `creating` on, only the engine knows what exists of the run. */
  get state(): LaunchState {
    return this.#state
  }

  /** Whether the engine did not return from a canceled start. */
  get isStuck(): boolean {
    return this.#stuck
  }

  /** Whether `Engine.start` has resolved, so that observations of the container count. */
  get isStarted(): boolean {
    return this.#started
  }

  get progress(): Progress | null {
    return this.#progress.progress
  }

  /** Whether it was canceled, also by a timeout. */
  get isAborted(): boolean {
    return this.#controller.signal.aborted
  }

  /** Cancels the attempt: `run` resolves with this reason once the engine has returned. */
  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /**
   * Resolves with the failure, or with nothing when `ready` is committed or the run has left this
   * path. Rejects when the database cannot be written.
   */
  async run(): Promise<{ failure: unknown } | undefined> {
    this.#idleTimeout.start(this.#ctx.settings.timeoutsMs[this.#state])
    const outcome = await this.#startProgram().catch((error: unknown) => ({
      failure: this.#controller.signal.aborted ? this.#controller.signal.reason : error,
    }))
    if ("failure" in outcome) await this.#writer.flush()
    else await this.#writer.writeReady(outcome)
    return "failure" in outcome ? outcome : undefined
  }

  async #startProgram(): Promise<RunAddress> {
    if (this.#state === "pulling") {
      await this.#replan()
      await this.#untilStuck(this.#prepareDirectories())
    }
    const [imagePolicy, diskMiB] = await Promise.all([
      this.#ctx.imagePolicy(this.#run),
      maxDiskMiBPerRun(this.#ctx.store, this.#run.userId, this.#ctx.settings.defaultLimits),
    ])
    const spec = { ...engineSpecOf(this.#run, { installation: this.#ctx.settings.installation }), imagePolicy, diskMiB }
    const resolveSpec = (image: ImageInfo) => this.#resolveSpec(image)
    this.#ctx.assertLeader()
    const started = await this.#untilStuck(this.#ctx.engine.start(spec, (step) => this.#report(step), this.#controller.signal, resolveSpec))
    this.#started = true
    this.#enterState("starting")
    const provided = this.#registryDigest === undefined ? {} : { registryDigest: this.#registryDigest }
    this.#writer.write("starting", { ...containerDetailsOf(started, this.#ctx), ...provided })
    return this.#waitForProgram()
  }

  /** The program's own deadline begins now, however long the engine took. */
  async #waitForProgram(): Promise<RunAddress> {
    const { settings, closed } = this.#ctx
    const { startMinutes } = this.#run.spec
    const totalMs = (startMinutes ?? settings.startMinutes) * 60_000
    this.#startTimeout.start(totalMs)
    this.#idleTimeout.start(startMinutes === undefined ? settings.timeoutsMs.starting : totalMs)
    const waiting = new AbortController()
    const signal = AbortSignal.any([this.#controller.signal, closed, waiting.signal])
    void watchStartup(this.#ctx, this.#run, {
      totalMs,
      onWork: () => this.#idleTimeout.refresh(),
      report: (progress) => this.#progress.report(progress),
      lastProbe: () => this.#lastProbe,
      onPortFault: (fault) => {
        this.#portFault = fault
      },
      signal,
    })
    const onProbe = (result: ProbeResult) => {
      this.#lastProbe = result
    }
    return waitUntilReady(this.#ctx, this.#run, { onProbe, signal }).finally(() => waiting.abort())
  }

  /**
   * Checks the plan by current rights, and writes a reduced one. Rejects with the reason that ends
   * the run.
   */
  async #replan(image?: ImageInfo): Promise<void> {
    const { id, spec } = this.#run
    const replanned = await this.#judge(image).catch((cause: unknown) => {
      throw new ReplanUnavailableError("The rights of a run could not be read", { cause })
    })
    if ("refusal" in replanned) throw new EngineError(replanned.refusal.code, replanned.refusal.msg)
    const plan = image ? withImagePort(replanned.plan, image) : replanned.plan
    if (isDeepStrictEqual(plan, spec)) return
    this.#run = { ...this.#run, spec: plan }
    await this.#ctx.change(async (tx) => {
      const updated = await tx.runs.transition(id, ["pulling", "creating", "starting"], { spec: plan })
      if (updated) tx.afterCommit(() => this.#ctx.runCache.publish(updated))
    })
  }

  async #judge(image: ImageInfo | undefined): Promise<ReplanResult> {
    if (image) await this.#ctx.checkTrust?.(this.#run, image)
    return this.#ctx.replan(this.#ctx.store, this.#run)
  }

  /** Called by the engine right before it mounts: pulling an image may have taken hours. */
  async #resolveSpec(image: ImageInfo): ReturnType<ResolveSpec> {
    await this.#replan(image)
    this.#ctx.assertLeader()
    this.#registryDigest = image.registryDigest
    this.#ctx.onImageUse?.(image.digest)
    const spec = engineSpecOf(this.#run, { image, installation: this.#ctx.settings.installation })
    const { entryPoint, command, env, port, mounts, workDir, writableRoot, writablePaths } = spec
    return { entryPoint, command, env, port, mounts, workDir, writableRoot, writablePaths }
  }

  /** Before the engine knows of the run: a failure leaves nothing there. */
  #prepareDirectories(): Promise<void> {
    const report = (progress: Progress) => this.#report({ state: "pulling", progress })
    return this.#ctx.prepareDirectories(this.#run, { report, signal: this.#controller.signal })
  }

  /**
   * An engine cleans up after a canceled start, and is awaited. If it never returns, the run can
   * still be stopped.
   */
  #untilStuck<T>(starting: Promise<T>): Promise<T> {
    const { clock, settings } = this.#ctx
    const settled = new AbortController()
    const stuck = new Promise<never>((_, reject) => {
      const onAbort = () => {
        clock.sleep(settings.timeoutsMs.stopping, settled.signal).then(() => {
          this.#stuck = true
          reject(this.#controller.signal.reason)
        }, ignore)
      }
      this.#controller.signal.addEventListener("abort", onAbort, { once: true, signal: settled.signal })
    })
    return Promise.race([starting, stuck]).finally(() => settled.abort())
  }

  #report({ state, progress }: StartStep): void {
    if (this.#started || this.#controller.signal.aborted) return
    this.#enterState(state)
    this.#writer.write(state)
    if (this.#progress.report(progress)) this.#idleTimeout.refresh()
  }

  #enterState(state: LaunchState): void {
    if (launchStates.indexOf(state) <= launchStates.indexOf(this.#state)) return
    this.#state = state
    this.#idleTimeout.start(this.#ctx.settings.timeoutsMs[state])
  }

  #timeoutError(): EngineError {
    const port = portOf(this.#run)
    const fault = responseFault(this.#run, this.#lastProbe)
    if (fault) return new EngineError("not_answering", `Port ${port} is open, but ${fault.text}`, { hint: fault.hint })
    if (this.#lastProbe?.ready === false) {
      const { text, hint } = this.#portFault
      return new EngineError("port_not_open", `${reasonMessages.port_not_open}, ${port}: ${text}`, { hint })
    }
    const code = `timeout_${this.#state}` as const
    const { image } = this.#run.spec
    return new EngineError(code, this.#state === "pulling" ? `The image ${image} stopped arriving` : reasonMessages[code])
  }

  [Symbol.dispose](): void {
    this.#idleTimeout[Symbol.dispose]()
    this.#startTimeout[Symbol.dispose]()
  }
}

/** The database did not answer whether the run is allowed: the start is undone and retried. */
export class ReplanUnavailableError extends Error {}

/**
 * With placement by Quayside, nodes and devices are those of admission, whatever the engine calls
 * them.
 */
function containerDetailsOf({ imageDigest, nodeNames, gpuDevices }: StartResult, { engine }: RunsContext): ContainerDetails {
  return engine.placement === "engine" ? { imageDigest, nodeNames, gpuDevices } : { imageDigest }
}

function ignore(): void {}
