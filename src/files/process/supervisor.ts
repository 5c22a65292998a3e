import { setTimeout as sleep } from "node:timers/promises"
import { Failure } from "#contract"
import { abortable, type Logger } from "#kit"
import type { TreeCall, TreeOptions } from "../tree/file-tree.ts"
import { WorkerGone, type WorkerOptions, WorkerProcess } from "./worker-process.ts"

const shortestWaitMs = 50
const longestWaitMs = 5_000
/** After a life of this length the next death waits the shortest time again. */
const steadyMs = 30_000
const pingEveryMs = 10_000
const pongWithinMs = 5_000
/** So many unanswered pings in a row end the worker. */
const mostSilences = 6
/** Work during which so many workers ended is given up: it may be what ends them. */
const mostAttempts = 3

/**
 * Keeps one worker alive; sockets and root stay here, so the next one goes on where the last one
 * stopped.
 */
export class Supervisor implements AsyncDisposable {
  readonly #options: WorkerOptions
  readonly #logger: Logger
  readonly #stopped = new AbortController()
  #worker: WorkerProcess
  #isReady = false
  /** Resolves with the worker when it serves, and is another one from its end on. */
  #serving = Promise.withResolvers<WorkerProcess>()
  #silences = 0
  #kept: Promise<void> | undefined
  #watch: NodeJS.Timeout | undefined

  constructor(options: Omit<WorkerOptions, "onFailure" | "onWeakness">, logger: Logger) {
    const weaknesses = new Set<string>()
    this.#options = {
      ...options,
      onFailure: (err) => logger.error({ err }, "a file request failed"),
      onWeakness(weakness) {
        if (!weaknesses.has(weakness)) logger.warn({ weakness }, "the file server's process lacks a protection")
        weaknesses.add(weakness)
      },
    }
    this.#logger = logger
    this.#worker = new WorkerProcess(this.#options)
  }

  /** Resolves when the worker accepts connections; rejects when the first one cannot. */
  async start(): Promise<void> {
    await this.#worker.ready
    this.#isReady = true
    this.#serving.resolve(this.#worker)
    this.#kept = this.#keep()
    this.#watch = setInterval(() => void this.#checkAlive(), pingEveryMs)
    this.#watch.unref()
  }

  get pid(): number | undefined {
    return this.#worker.pid
  }

  /**
   * Has a worker do it; the next one again when one ends meanwhile. Rejects with `unavailable` when
   * three ended over it, or this one is being stopped.
   */
  async ask(call: TreeCall, options: TreeOptions): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      options.signal?.throwIfAborted()
      const worker = await this.#next(options.signal)
      try {
        return await worker.ask(call, options)
      } catch (error) {
        if (!(error instanceof WorkerGone)) throw error
        this.#logger.warn(
          { err: error, op: call.op, attempt },
          "the file server's process ended in the middle of work for the main process",
        )
        if (attempt >= mostAttempts || this.#stopped.signal.aborted) throw unavailable(error)
        this.#forget(worker)
      }
    }
  }

  /** A worker that ended serves no more, whoever notices first. */
  #forget(worker: WorkerProcess): void {
    if (worker !== this.#worker || !this.#isReady) return
    this.#isReady = false
    this.#serving = Promise.withResolvers<WorkerProcess>()
  }

  #next(signal: AbortSignal | undefined): Promise<WorkerProcess> {
    const ends = [this.#stopped.signal, ...(signal ? [signal] : [])]
    return abortable(this.#serving.promise, AbortSignal.any(ends))
  }

  invalidate(): void {
    this.#worker.tell({ type: "invalidate" })
  }

  async health(): Promise<{ ok: boolean; msg: string }> {
    if (!this.#isReady) return { ok: false, msg: "The file server's process ended and is being started again" }
    const ok = await this.#worker.ping(pongWithinMs)
    return { ok, msg: ok ? "The file server answers" : `The file server has not answered for ${pongWithinMs / 1000} s` }
  }

  async #keep(): Promise<void> {
    let waitMs = shortestWaitMs
    for (let startedAt = performance.now(); ; startedAt = performance.now()) {
      const cause = await this.#worker.ended
      this.#forget(this.#worker)
      if (this.#stopped.signal.aborted) return
      if (performance.now() - startedAt > steadyMs) waitMs = shortestWaitMs
      this.#logger.error({ err: cause, waitMs }, "the file server's process ended; it is started again")
      await sleep(waitMs, undefined, { signal: this.#stopped.signal }).catch(() => {})
      if (this.#stopped.signal.aborted) return
      waitMs = Math.min(longestWaitMs, waitMs * 2)
      this.#worker = new WorkerProcess(this.#options)
      this.#isReady = await this.#worker.ready.then(
        () => true,
        () => false,
      )
      if (this.#isReady) this.#serving.resolve(this.#worker)
    }
  }

  async #checkAlive(): Promise<void> {
    const worker = this.#worker
    if (!this.#isReady || (await worker.ping(pongWithinMs))) this.#silences = 0
    else this.#silences += 1
    if (this.#silences < mostSilences || worker !== this.#worker) return
    this.#silences = 0
    this.#logger.error({ pid: worker.pid }, "the file server's process does not answer and is ended")
    worker.kill()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#watch)
    this.#stopped.abort(unavailable(undefined))
    await this.#worker.stop()
    await this.#kept
  }
}

const unavailable = (cause: unknown): Failure =>
  new Failure("unavailable", "The process that works on files ended before this was done; try again", { cause })
