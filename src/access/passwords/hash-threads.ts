import { type Argon2Parameters, argon2Sync } from "node:crypto"
import { readlinkSync } from "node:fs"
import { getPriority, setPriority } from "node:os"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"

/**
 * Idle threads end after this time to free their memory, about 30 MiB each. A new thread starts in
 * less time than a hash takes.
 */
const idleMs = 1_000
/**
 * Added to the service's own niceness. Requests take precedence on every core; even if all cores
 * are busy, a hash gets a quarter of one.
 */
const niceness = 5
/** The lowest priority that Linux has. */
const least = 19

/**
 * Derives keys by argon2id in threads of their own, of lower priority than the service's. A hash
 * fills a core for as long as it lasts: in the thread pool it would stand before files and name
 * look-ups, and at equal priority before the answers to everybody else.
 */
export class HashThreads {
  readonly #free: Worker[] = []
  #timer: NodeJS.Timeout | undefined

  /**
   * Each concurrent call uses its own thread, which is then reused. The caller limits how many run
   * at once.
   */
  async derive(parameters: Argon2Parameters): Promise<Buffer> {
    clearTimeout(this.#timer)
    const thread = this.#free.pop() ?? this.#start()
    const tag = await derivedBy(thread, parameters)
    this.#free.push(thread)
    this.#timer = setTimeout(() => void this.end(), idleMs).unref()
    return tag
  }

  #start(): Worker {
    const thread = new Worker(import.meta.filename, { workerData: { hashes: true }, execArgv: [] })
    // `derivedBy` reports the error to its caller; an idle thread has no caller.
    thread.on("error", () => {})
    thread.on("exit", () => {
      const at = this.#free.indexOf(thread)
      if (at >= 0) this.#free.splice(at, 1)
    })
    return thread
  }

  /** Ends the threads that are free; a later hash starts one again. */
  async end(): Promise<void> {
    clearTimeout(this.#timer)
    await Promise.all(this.#free.splice(0).map((thread) => thread.terminate()))
  }
}

/** A thread that ends before it answers is not used again. */
async function derivedBy(thread: Worker, parameters: Argon2Parameters): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const ended = () => reject(new Error("The thread that hashes passwords ended"))
  thread.on("message", resolve).on("error", reject).on("exit", ended)
  thread.ref()
  thread.postMessage(parameters)
  try {
    return Buffer.from(await promise)
  } finally {
    thread.off("message", resolve).off("error", reject).off("exit", ended)
    thread.unref()
  }
}

/**
 * Linux has a priority for each thread. On other systems, or if setting it is not permitted, hashes
 * run at normal priority.
 */
function yieldToOthers(): void {
  try {
    const [id] = /\d+$/.exec(readlinkSync("/proc/thread-self")) ?? []
    if (id !== undefined) setPriority(Number(id), Math.min(getPriority(Number(id)) + niceness, least))
  } catch {
    // Slower responses during sign-ins are better than failing sign-ins.
  }
}

if (!isMainThread && workerData?.hashes === true) {
  yieldToOthers()
  parentPort?.on("message", (parameters: Argon2Parameters) => parentPort?.postMessage(argon2Sync("argon2id", parameters)))
}
