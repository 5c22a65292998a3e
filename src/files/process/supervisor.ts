import { setTimeout as sleep } from "node:timers/promises"
import { Failure } from "#contract"
import { abortable, type Logger } from "#kit"
import type { TreeOperation, TreeOperationOptions } from "../tree/file-tree.ts"
import { WorkerExitedError, WorkerProcess, type WorkerProcessOptions } from "./worker-process.ts"

const minRestartMs = 50
const maxRestartMs = 5_000
/** A worker that ran for so long is restarted after the shortest delay again. */
const stableAfterMs = 30_000
const pingEveryMs = 10_000
const pongTimeoutMs = 5_000
/** So many unanswered pings in a row get the worker killed. */
const maxMissedPings = 6
/** An operation fails after so many workers ended during it: it may be the cause. */
const maxAttempts = 3

/**
 * Restarts the worker when it ends. The sockets and the root belong to this process, so the next
 * worker continues with them.
 */
export class WorkerSupervisor implements AsyncDisposable {
  readonly #options: WorkerProcessOptions
  readonly #logger: Logger
  readonly #stopped = new AbortController()
  #worker: WorkerProcess
  #isReady = false
  /** Resolves with the worker when it serves; replaced when that worker ends. */
  #serving = Promise.withResolvers<WorkerProcess>()
  #missedPings = 0
  #restarting: Promise<void> | undefined
  #pingTimer: NodeJS.Timeout | undefined

  constructor(options: Omit<WorkerProcessOptions, "onFailure" | "onWeakness">, logger: Logger) {
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
    this.#restarting = this.#restartForever()
    this.#pingTimer = setInterval(() => void this.#checkAlive(), pingEveryMs)
    this.#pingTimer.unref()
  }

  get pid(): number | undefined {
    return this.#worker.pid
  }

  /**
   * Runs the operation on the worker, and again on the next one when the worker ends meanwhile.
   * Rejects with `unavailable` after three workers ended, or when this supervisor is being stopped.
   */
  async perform(operation: TreeOperation, options: TreeOperationOptions): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      options.signal?.throwIfAborted()
      const worker = await this.#servingWorker(options.signal)
      try {
        return await worker.perform(operation, options)
      } catch (error) {
        if (!(error instanceof WorkerExitedError)) throw error
        this.#logger.warn(
          { err: error, op: operation.op, attempt },
          "the file server's process ended in the middle of work for the main process",
        )
        if (attempt >= maxAttempts || this.#stopped.signal.aborted) throw unavailable(error)
        this.#markEnded(worker)
      }
    }
  }

  /** Both the restart loop and an operation may notice first that a worker ended. */
  #markEnded(worker: WorkerProcess): void {
    if (worker !== this.#worker || !this.#isReady) return
    this.#isReady = false
    this.#serving = Promise.withResolvers<WorkerProcess>()
  }

  #servingWorker(signal: AbortSignal | undefined): Promise<WorkerProcess> {
    const ends = [this.#stopped.signal, ...(signal ? [signal] : [])]
    return abortable(this.#serving.promise, AbortSignal.any(ends))
  }

  invalidate(): void {
    this.#worker.send({ type: "invalidate" })
  }

  confirm(): void {
    this.#worker.send({ type: "confirm" })
  }

  async health(): Promise<{ ok: boolean; msg: string }> {
    if (!this.#isReady) return { ok: false, msg: "The file server's process ended and is being restarted" }
    const ok = await this.#worker.ping(pongTimeoutMs)
    return { ok, msg: ok ? "The file server answers" : `The file server has not answered for ${pongTimeoutMs / 1000} s` }
  }

  async #restartForever(): Promise<void> {
    let waitMs = minRestartMs
    for (let startedAt = performance.now(); ; startedAt = performance.now()) {
      const cause = await this.#worker.ended
      this.#markEnded(this.#worker)
      if (this.#stopped.signal.aborted) return
      if (performance.now() - startedAt > stableAfterMs) waitMs = minRestartMs
      this.#logger.error({ err: cause, waitMs }, "the file server's process ended and is restarted")
      await sleep(waitMs, undefined, { signal: this.#stopped.signal }).catch(() => {})
      if (this.#stopped.signal.aborted) return
      waitMs = Math.min(maxRestartMs, waitMs * 2)
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
    if (!this.#isReady || (await worker.ping(pongTimeoutMs))) this.#missedPings = 0
    else this.#missedPings += 1
    if (this.#missedPings < maxMissedPings || worker !== this.#worker) return
    this.#missedPings = 0
    this.#logger.error({ pid: worker.pid }, "the file server's process does not answer and is killed")
    worker.kill()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#pingTimer)
    this.#stopped.abort(unavailable(undefined))
    await this.#worker.stop()
    await this.#restarting
  }
}

const unavailable = (cause: unknown): Failure =>
  new Failure("unavailable", "The file server's process ended before this was done; try again", { cause })
