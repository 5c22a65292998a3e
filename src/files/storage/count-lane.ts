import { extname, join } from "node:path"
import { Worker } from "node:worker_threads"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import type { CounterData, CountReply, CountRequest } from "./counter-thread.ts"
import type { StorageSettings } from "./storage.ts"

/** An idle thread ends after so long and frees its memory. */
const idleMs = 30_000
/** A scan stores little more than the names on its path. */
const memoryMiB = 192

type Waiting = { resolve(reply: CountReply): void; reject(error: Error): void }

/** A thread of the lowest priority that scans, and runs while scans are pending. */
export class CountLane implements AsyncDisposable {
  readonly #root: DirectoryHandle
  readonly #settings: StorageSettings
  readonly #waiting = new Map<number, Waiting>()
  #thread: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #closed = false

  constructor(root: DirectoryHandle, settings: StorageSettings) {
    this.#root = root
    this.#settings = settings
  }

  async scan(request: Omit<CountRequest, "id">): Promise<CountReply> {
    if (this.#closed) throw new Error("The file server is stopping")
    clearTimeout(this.#idle)
    this.#lastId += 1
    const id = this.#lastId
    return await new Promise<CountReply>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#open().postMessage({ id, ...request } satisfies CountRequest)
    })
  }

  #open(): Worker {
    if (this.#thread) return this.#thread
    const data: CounterData = { rootFd: this.#root.fd, settings: this.#settings }
    const options = { workerData: data, stdin: false, resourceLimits: { maxOldGenerationSizeMb: memoryMiB, maxYoungGenerationSizeMb: 4 } }
    const thread = new Worker(threadFile(), options)
    thread.unref()
    thread.on("message", (reply: CountReply) => this.#settle(reply.id, ({ resolve }) => resolve(reply)))
    thread.on("error", (error) => this.#fail(thread, error instanceof Error ? error : new Error(String(error))))
    thread.on("exit", () => this.#fail(thread, new Error("The counting of files ended")))
    this.#thread = thread
    return thread
  }

  #settle(id: number, settle: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    this.#waiting.delete(id)
    settle(waiting)
    if (this.#waiting.size > 0) return
    this.#idle = setTimeout(() => this.#end(), idleMs)
    this.#idle.unref()
  }

  /** The next count begins with a new thread. */
  #fail(thread: Worker, error: Error): void {
    if (thread !== this.#thread) return
    this.#thread = undefined
    for (const id of [...this.#waiting.keys()]) this.#settle(id, ({ reject }) => reject(error))
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle)
    const thread = this.#thread
    this.#thread = undefined
    await thread?.terminate()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    const left = [...this.#waiting.values()]
    this.#waiting.clear()
    await this.#end()
    for (const { reject } of left) reject(new Error("The file server is stopping"))
  }
}

/** Beside this file, with the same extension: `.ts` in a checkout, `.js` in a published package. */
function threadFile(): string {
  return join(import.meta.dirname, `counter-thread${extname(import.meta.filename)}`)
}
