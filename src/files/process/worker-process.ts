import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { getCompileCacheDir } from "node:module"
import { dirname, extname, join } from "node:path"
import { Failure } from "#contract"
import type { Authority } from "../access/authority.ts"
import type { Settings } from "../settings.ts"
import type { BoundSocket } from "../sockets.ts"
import type { Folder } from "../tree/directory-handle.ts"
import type { TreeCall, TreeOptions } from "../tree/file-tree.ts"
import { errorFrom, type Owner, type ToMain, type ToWorker, type TreeOutcome } from "./messages.ts"
import { answerOf } from "./tree-reply.ts"

const stopMs = 15_000

export interface WorkerOptions {
  root: Folder
  sockets: readonly BoundSocket[]
  authority: Authority
  settings: Settings
  owner: Owner | undefined
  /** A request failed in the worker and it was nobody's fault but ours. */
  onFailure(error: Error): void
  /** The worker lacks a protection that this machine does not have. */
  onWeakness(weakness: string): void
}

/** The process ended before it answered: what it did by then is not known. */
export class WorkerGone extends Error {
  override readonly name = "WorkerGone"
}

interface Asked {
  settle(outcome: TreeOutcome): void
  fail(error: WorkerGone): void
  onProgress: TreeOptions["onProgress"]
}

/** One worker process, from its start to its end. */
export class WorkerProcess {
  /** Resolves when it accepts connections; rejects with why it cannot. */
  readonly ready: Promise<void>
  /** Resolves with why it ended. */
  readonly ended: Promise<Error>
  readonly #child: ChildProcess
  readonly #options: WorkerOptions
  readonly #pongs = new Map<number, () => void>()
  readonly #asked = new Map<number, Asked>()
  #pings = 0
  #asks = 0
  #lastWords: Error | undefined
  #gone: WorkerGone | undefined

  constructor(options: WorkerOptions) {
    this.#options = options
    const { root, sockets, owner, settings } = options
    const [program, ...words] = [...confinement(), process.execPath, ...flags, workerFile()]
    this.#child = spawn(program, words, {
      stdio: ["ignore", 2, 2, "ipc", root.fd, ...sockets.map(({ fd }) => fd)],
      env: environment(),
      cwd: "/",
    })
    this.ended = new Promise((resolve) => {
      this.#child.once("error", (error) => resolve(error))
      this.#child.once("exit", (code, signal) =>
        resolve(this.#lastWords ?? new Error(`The file server's process ended (${signal ?? code})`)),
      )
    })
    void this.ended.then((cause) => this.#goes(cause))
    const ready = new Promise<void>((resolve) => this.#child.on("message", (message: ToMain) => this.#hear(message, resolve)))
    this.ready = Promise.race([ready, this.ended.then((error) => Promise.reject(error))])
    this.ready.catch(() => {})
    this.tell({ type: "start", owner, settings, sockets: sockets.length })
  }

  #goes(cause: Error): void {
    this.#gone = new WorkerGone(cause.message, { cause })
    for (const { fail } of this.#asked.values()) fail(this.#gone)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  tell(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  /** Whether it answers within so many milliseconds. */
  async ping(ms: number): Promise<boolean> {
    this.#pings += 1
    const id = this.#pings
    const pong = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), ms)
      timer.unref()
      this.#pongs.set(id, () => {
        clearTimeout(timer)
        resolve(true)
      })
    })
    this.tell({ type: "ping", id })
    return Promise.race([pong, this.ended.then(() => false)]).finally(() => this.#pongs.delete(id))
  }

  /**
   * Has the tree worked on. Rejects with `WorkerGone` when the process ends first; where the signal
   * is aborted it waits for the end all the same.
   */
  async ask(call: TreeCall, { signal, onProgress }: TreeOptions): Promise<unknown> {
    this.#asks += 1
    const id = this.#asks
    const onAbort = () => this.tell({ type: "cancel", id })
    try {
      if (this.#gone) throw this.#gone
      const answered = new Promise<TreeOutcome>((settle, fail) => this.#asked.set(id, { settle, fail, onProgress }))
      this.tell({ type: "tree", id, call })
      signal?.addEventListener("abort", onAbort, { once: true })
      return answerOf(await answered, signal)
    } finally {
      this.#asked.delete(id)
      signal?.removeEventListener("abort", onAbort)
    }
  }

  kill(): void {
    this.#child.kill("SIGKILL")
  }

  /** Requests under way end first; after 15 s it is killed. */
  async stop(): Promise<void> {
    this.tell({ type: "stop" })
    const timer = setTimeout(() => this.kill(), stopMs)
    await this.ended
    clearTimeout(timer)
  }

  #hear(message: ToMain, ready: () => void): void {
    const { authority } = this.#options
    if (message.type === "ready") this.#readied(message.weaknesses, ready)
    else if (message.type === "dying") this.#lastWords = errorFrom(message.error)
    else if (message.type === "failure") this.#options.onFailure(errorFrom(message.error))
    else if (message.type === "pong") this.#pongs.get(message.id)?.()
    else if (message.type === "treeProgress") this.#asked.get(message.id)?.onProgress?.(message.progress)
    else if (message.type === "treeDone") this.#asked.get(message.id)?.settle(message.outcome)
    else if (message.type === "refused") for (const each of message.refusals) authority.refused(each)
    else if (message.type === "identify") {
      this.#answer("identified", message.id, () => authority.identify(message.authorization, message.address))
    } else if (message.type === "areas") this.#answer("areasTold", message.id, () => authority.areas(message.paths))
    else if (message.type === "storage") this.#answer("storageTold", message.id, async () => [await authority.storage(message.account)])
    else this.#answer("accesses", message.id, () => authority.access(message.userId, message.paths))
  }

  #readied(weaknesses: readonly string[], ready: () => void): void {
    for (const weakness of weaknesses) this.#options.onWeakness(weakness)
    ready()
  }

  #answer(type: "identified" | "accesses" | "areasTold" | "storageTold", id: number, ask: () => Promise<unknown>): void {
    const reply = (answer: unknown) => this.tell({ type, id, answer } as ToWorker)
    const failed = (error: unknown) => {
      // A database that is away is nobody's fault, and told elsewhere: a line for each request
      // would fill the log.
      if (!(error instanceof Failure)) this.#options.onFailure(error instanceof Error ? error : new Error(String(error)))
      reply(null)
    }
    Promise.resolve().then(ask).then(reply, failed)
  }
}

/** Beside this file, with the same ending: `.ts` in a checkout, `.js` in a published package. */
function workerFile(): string {
  return join(import.meta.dirname, `worker${extname(import.meta.filename)}`)
}

/**
 * The young generation stays small, since most of what is allocated are buffers, which live
 * elsewhere; with 1 MiB a small upload costs an eighth more processor time. `drop.ts` uses
 * `node:ffi`.
 */
const flags = ["--max-semi-space-size=4", "--disable-warning=ExperimentalWarning"]

/**
 * No program that the worker runs gives it privileges, set-uid ones included. Node.js cannot set
 * this for all threads of a process that runs already, so a program of util-linux does before it
 * becomes the worker.
 */
function confinement(): string[] {
  const setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].find(existsSync)
  return setpriv === undefined ? [] : [setpriv, "--no-new-privs"]
}

/**
 * Nothing of the main process's own environment: it may hold secrets. One arena for all threads:
 * with one for each, freed buffers of uploads are never given back (100 MB instead of 35 after a
 * large one).
 */
function environment(): NodeJS.ProcessEnv {
  const cache = getCompileCacheDir()
  return { LANG: "C.UTF-8", MALLOC_ARENA_MAX: "1", UV_USE_IO_URING: "0", ...(cache ? { NODE_COMPILE_CACHE: dirname(cache) } : {}) }
}
