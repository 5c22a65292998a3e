import { type Progress, type RunState, reasonSentences } from "#contract"
import { type Address, EngineError, type Started, type StartStep } from "#engine"
import type { RunRow } from "#store"
import type { Context } from "./context.ts"
import { move } from "./moves.ts"
import type { ProbeResult } from "./probe.ts"
import { untilReady } from "./readiness.ts"
import { specOf } from "./spec.ts"
import { Watchdog } from "./watchdog.ts"

const path = ["pulling", "creating", "starting", "ready"] as const satisfies RunState[]
type Stage = Exclude<(typeof path)[number], "ready">
const progressMs = 500
const progressStoreMs = 10_000

/** One attempt to bring a run from where its row stands to `ready`. */
export class Launch implements Disposable {
  readonly #ctx: Context
  readonly #run: RunRow
  readonly #cut = new AbortController()
  readonly #watchdog: Watchdog
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
    this.#watchdog = new Watchdog(ctx.clock, () => this.#cut.abort(this.#tooLate()))
    this.#watchdog.enter(ctx.settings.timeouts[stage])
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

  /** Resolves with why the start failed, or with nothing when `ready` is committed or the run has left this path. Rejects when the database cannot be written. */
  async go(): Promise<{ failure: unknown } | undefined> {
    const outcome = await this.#bring().catch((error: unknown) => ({ failure: this.#cut.signal.aborted ? this.#cut.signal.reason : error }))
    await this.#writer.flush()
    if ("failure" in outcome) return outcome
    const now = this.#ctx.clock.now()
    await move(this.#ctx, this.#run.id, { path, fields: { readyTime: now, lastActivity: now }, address: outcome })
    return undefined
  }

  async #bring(): Promise<Address> {
    const started = await this.#patiently(this.#ctx.engine.start(specOf(this.#run), (step) => this.#report(step), this.#cut.signal))
    this.#started = true
    this.#enter("starting")
    // The program's own time begins now, however long the engine took to start it.
    this.#watchdog.enter(this.#ctx.settings.timeouts.starting)
    this.#writer.want("starting", factsOf(started, this.#ctx))
    const found = (result: ProbeResult) => {
      this.#found = result
    }
    return untilReady(this.#ctx, this.#run, { found, signal: AbortSignal.any([this.#cut.signal, this.#ctx.closed]) })
  }

  /** An engine cleans up when a start is cut short, and is waited for; one that never lets go must not keep the run from being stopped. */
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
    if (this.#teller.tell(progress)) this.#watchdog.alive()
  }

  #enter(stage: Stage): void {
    if (path.indexOf(stage) <= path.indexOf(this.#stage)) return
    this.#stage = stage
    this.#watchdog.enter(this.#ctx.settings.timeouts[stage])
  }

  #tooLate(): EngineError {
    const found = this.#found
    if (!found || found.ready) return new EngineError(`timeout_${this.#stage}`, reasonSentences[`timeout_${this.#stage}`])
    return new EngineError(found.code, `${reasonSentences[found.code]}: ${found.said}`)
  }

  [Symbol.dispose](): void {
    this.#watchdog[Symbol.dispose]()
  }
}

type Facts = Partial<Pick<RunRow, "imageDigest" | "nodeNames" | "gpuDevices">>

/** With placement by Quayside, nodes and devices are what admission handed out, whatever the engine calls them. */
function factsOf({ imageDigest, nodeNames, gpuDevices }: Started, { engine }: Context): Facts {
  return engine.placement === "engine" ? { imageDigest, nodeNames, gpuDevices } : { imageDigest }
}

/** Writes how far a start has come, beside the start itself. While one write is under way the later ones fall together. */
class StageWriter {
  readonly #ctx: Context
  readonly #id: number
  #wanted: { stage: Stage; facts: Facts } | undefined
  #writing: Promise<void> | undefined

  constructor(ctx: Context, id: number) {
    this.#ctx = ctx
    this.#id = id
  }

  want(stage: Stage, facts: Facts = {}): void {
    this.#wanted = { stage, facts: { ...this.#wanted?.facts, ...facts } }
    this.#writing ??= this.#write()
    this.#writing.catch(() => {})
  }

  /** Resolves when all is written, tried once more where it failed; rejects when it could not be. */
  async flush(): Promise<void> {
    await this.#writing?.catch(() => {})
    if (this.#wanted) await this.#write()
  }

  async #write(): Promise<void> {
    try {
      for (let wanted = this.#wanted; wanted; wanted = this.#wanted) {
        await move(this.#ctx, this.#id, { path: path.slice(0, path.indexOf(wanted.stage) + 1), fields: wanted.facts, again: true })
        if (this.#wanted === wanted) this.#wanted = undefined
      }
    } finally {
      this.#writing = undefined
    }
  }
}

/** Keeps the progress in memory, tells it now and then, and writes it rarely. */
class ProgressTeller {
  readonly #ctx: Context
  readonly #run: RunRow
  progress: Progress | null = null
  #told = 0
  #stored: number

  constructor(ctx: Context, run: RunRow) {
    this.#ctx = ctx
    this.#run = run
    this.#stored = ctx.clock.now()
  }

  /** Whether it is another progress than the last. */
  tell(progress: Progress | null): boolean {
    const last = this.progress
    this.progress = progress
    if (!progress || (last?.step === progress.step && last.current === progress.current && last.total === progress.total)) return false
    const now = this.#ctx.clock.now()
    if (now - this.#told >= progressMs || progress.current === progress.total) {
      this.#told = now
      this.#ctx.events.progress(this.#run, progress)
    }
    if (now - this.#stored >= progressStoreMs) this.#store(progress, now)
    return true
  }

  #store(progress: Progress, now: number): void {
    this.#stored = now
    const { store, logger } = this.#ctx
    const written = store.change((tx) => tx.runs.move(this.#run.id, ["pulling", "creating"], { progress }))
    written.catch((error) => logger.warn({ err: error, run: this.#run.id }, "progress was not written"))
  }
}

function ignore(): void {}
