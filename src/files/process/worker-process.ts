import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { getCompileCacheDir } from "node:module"
import { dirname, extname, join } from "node:path"
import { Failure } from "#contract"
import type { Authority } from "../access/authority.ts"
import type { BoundAddress } from "../bound-addresses.ts"
import { poolThreads } from "../requests/disk-turns.ts"
import type { FileServerSettings } from "../settings.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import type { TreeOperation, TreeOperationOptions } from "../tree/file-tree.ts"
import { deserializeError, type FileOwner, type MessageToMain, type MessageToWorker, type TreeOutcome } from "./messages.ts"
import { unwrapOutcome } from "./tree-reply.ts"

const stopMs = 15_000

export interface WorkerProcessOptions {
  root: DirectoryHandle
  addresses: readonly BoundAddress[]
  authority: Authority
  settings: FileServerSettings
  owner: FileOwner | undefined
  /** A request failed in the worker because of an error in the program. */
  onFailure(error: Error): void
  /** The worker lacks a protection that this machine does not offer. */
  onWeakness(weakness: string): void
}

/** The process ended before it replied; how far the operation came is unknown. */
export class WorkerExitedError extends Error {
  override readonly name = "WorkerExitedError"
}

interface PendingOperation {
  settle(outcome: TreeOutcome): void
  fail(error: WorkerExitedError): void
  onProgress: TreeOperationOptions["onProgress"]
}

/** One worker process, from its start to its end. */
export class WorkerProcess {
  /** Resolves when the process accepts connections; rejects with the reason if it cannot. */
  readonly ready: Promise<void>
  /** Resolves with the reason when the process ended. */
  readonly ended: Promise<Error>
  readonly #child: ChildProcess
  readonly #options: WorkerProcessOptions
  readonly #pongs = new Map<number, (isAlive: boolean) => void>()
  readonly #pendingOperations = new Map<number, PendingOperation>()
  #lastPingId = 0
  #lastOperationId = 0
  #fatalError: Error | undefined
  #exited: WorkerExitedError | undefined

  constructor(options: WorkerProcessOptions) {
    this.#options = options
    const { root, addresses, owner, settings } = options
    const [program, ...args] = [...noNewPrivileges(), process.execPath, ...nodeFlags, workerFile()]
    this.#child = spawn(program, args, {
      stdio: ["ignore", 2, 2, "ipc", root.fd, ...addresses.map(({ socket }) => socket.fd())],
      env: workerEnvironment(),
      cwd: "/",
    })
    this.ended = new Promise((resolve) => {
      this.#child.once("error", (error) => resolve(error))
      this.#child.once("exit", (code, signal) =>
        resolve(this.#fatalError ?? new Error(`The file server's process ended (${signal ?? code})`)),
      )
    })
    void this.ended.then((cause) => this.#failPending(cause))
    const ready = new Promise<void>((resolve) =>
      this.#child.on("message", (message: MessageToMain) => this.#handleMessage(message, resolve)),
    )
    this.ready = Promise.race([ready, this.ended.then((error) => Promise.reject(error))])
    this.ready.catch(() => {})
    this.send({ type: "start", owner, settings, sockets: addresses.length })
  }

  #failPending(cause: Error): void {
    this.#exited = new WorkerExitedError(cause.message, { cause })
    for (const { fail } of this.#pendingOperations.values()) fail(this.#exited)
    for (const settle of this.#pongs.values()) settle(false)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  send(message: MessageToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  /**
   * Whether the process answers in time. No race with `ended`: that lives as long as the process,
   * and would keep each of them.
   */
  async ping(timeoutMs: number): Promise<boolean> {
    if (this.#exited) return false
    this.#lastPingId += 1
    const id = this.#lastPingId
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(() => resolve(false), timeoutMs)
    timer.unref()
    this.#pongs.set(id, resolve)
    this.send({ type: "ping", id })
    return promise.finally(() => {
      clearTimeout(timer)
      this.#pongs.delete(id)
    })
  }

  /**
   * Runs one operation on the file tree. Rejects with `WorkerExitedError` when the process ends
   * first. After an abort it still waits until the operation has ended.
   */
  async perform(operation: TreeOperation, { signal, onProgress }: TreeOperationOptions): Promise<unknown> {
    this.#lastOperationId += 1
    const id = this.#lastOperationId
    const onAbort = () => this.send({ type: "cancel", id })
    try {
      if (this.#exited) throw this.#exited
      const answered = new Promise<TreeOutcome>((settle, fail) => this.#pendingOperations.set(id, { settle, fail, onProgress }))
      this.send({ type: "tree", id, operation })
      signal?.addEventListener("abort", onAbort, { once: true })
      return unwrapOutcome(await answered, signal)
    } finally {
      this.#pendingOperations.delete(id)
      signal?.removeEventListener("abort", onAbort)
    }
  }

  kill(): void {
    this.#child.kill("SIGKILL")
  }

  /** Lets open requests finish, and kills the process after 15 s. */
  async stop(): Promise<void> {
    this.send({ type: "stop" })
    const timer = setTimeout(() => this.kill(), stopMs)
    await this.ended
    clearTimeout(timer)
  }

  #handleMessage(message: MessageToMain, ready: () => void): void {
    const { authority } = this.#options
    if (message.type === "ready") this.#handleReady(message.weaknesses, ready)
    else if (message.type === "dying") this.#fatalError = deserializeError(message.error)
    else if (message.type === "failure") this.#options.onFailure(deserializeError(message.error))
    else if (message.type === "pong") this.#pongs.get(message.id)?.(true)
    else if (message.type === "treeProgress") this.#pendingOperations.get(message.id)?.onProgress?.(message.progress)
    else if (message.type === "treeReply") this.#pendingOperations.get(message.id)?.settle(message.outcome)
    else if (message.type === "refusals") for (const each of message.refusals) authority.recordRefusals(each)
    else if (message.type === "identify") {
      this.#replyWith("identifyReply", message.id, () => authority.identify(message.authorization, message.address, message.options))
    } else if (message.type === "areas") this.#replyWith("areasReply", message.id, () => authority.mountAreas(message.paths))
    else if (message.type === "storage")
      this.#replyWith("storageReply", message.id, async () => [await authority.storageQuota(message.account)])
    else this.#replyWith("accessReply", message.id, () => authority.access(message.userId, message.paths))
  }

  #handleReady(weaknesses: readonly string[], ready: () => void): void {
    for (const weakness of weaknesses) this.#options.onWeakness(weakness)
    ready()
  }

  #replyWith(type: "identifyReply" | "accessReply" | "areasReply" | "storageReply", id: number, perform: () => Promise<unknown>): void {
    const reply = (answer: unknown) => this.send({ type, id, answer } as MessageToWorker)
    const failed = (error: unknown) => {
      // A failing database is reported elsewhere: a line for each request would fill the log.
      if (!(error instanceof Failure)) this.#options.onFailure(error instanceof Error ? error : new Error(String(error)))
      reply(null)
    }
    Promise.resolve().then(perform).then(reply, failed)
  }
}

/** Beside this file, with the same extension: `.ts` in a checkout, `.js` in a published package. */
function workerFile(): string {
  return join(import.meta.dirname, `worker${extname(import.meta.filename)}`)
}

/**
 * The young generation is small, since buffers live elsewhere; with 1 MiB a small upload would cost
 * an eighth more processor time. The warning would be about `node:ffi` of `drop-privileges.ts`.
 */
const nodeFlags = ["--max-semi-space-size=4", "--disable-warning=ExperimentalWarning"]

/**
 * Programs that the worker starts gain no privileges, not even set-uid ones. Node.js cannot set
 * this for all threads of a running process, so `setpriv` of util-linux does before it becomes the
 * worker.
 */
function noNewPrivileges(): string[] {
  const setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].find(existsSync)
  return setpriv === undefined ? [] : [setpriv, "--no-new-privs"]
}

/**
 * Nothing of the main process's own environment, which may contain secrets. One arena for all
 * threads: with one each, freed buffers of uploads are never returned (100 MB instead of 35 after a
 * large one).
 */
function workerEnvironment(): NodeJS.ProcessEnv {
  const cache = getCompileCacheDir()
  return {
    LANG: "C.UTF-8",
    MALLOC_ARENA_MAX: "1",
    UV_USE_IO_URING: "0",
    UV_THREADPOOL_SIZE: String(poolThreads),
    ...(cache ? { NODE_COMPILE_CACHE: dirname(cache) } : {}),
  }
}
