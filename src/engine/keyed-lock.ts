import { EngineError } from "./engine.ts"

/**
 * Starts and stops of one key never overlap.
 *
 * They run in the order in which they were asked for. A stop cuts every start before it short, so
 * that it need not wait for a pull; that start fails and has cleaned up before the stop's own work
 * begins.
 */
export class KeyedLock {
  readonly #queues = new Map<string, Queue>()

  /**
   * Runs `work` when the key is free. Rejects at once, without running it, when the signal is
   * aborted while it waits.
   */
  runAbortable<T>(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const cut = new AbortController()
    const both = AbortSignal.any([signal, cut.signal])
    return this.#enter(key, both, () => work(both), cut)
  }

  /** Runs `work` when the starts before it have been cut short and have ended. */
  abortAndRun(key: string, signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
    for (const cut of this.#queues.get(key)?.starts ?? []) {
      cut.abort(new EngineError("engine_error", "The run was stopped while it was being started"))
    }
    return this.#enter(key, signal, work)
  }

  /**
   * Runs `work` as a turn of its own, unless anything of the key runs or waits: that sees to it,
   * and nothing is done here.
   */
  runIfFree(key: string, work: () => Promise<void>): Promise<void> {
    return this.isLocked(key) ? Promise.resolve() : this.#enter(key, undefined, work)
  }

  /** Whether anything of the key runs or waits. */
  isLocked(key: string): boolean {
    return this.#queues.has(key)
  }

  #enter<T>(key: string, signal: AbortSignal | undefined, work: () => Promise<T>, cut?: AbortController): Promise<T> {
    const queue = this.#queues.get(key) ?? { tail: Promise.resolve(), waiting: 0, starts: new Set() }
    this.#queues.set(key, queue)
    queue.waiting += 1
    if (cut) queue.starts.add(cut)
    let begun = false
    const result = queue.tail.then(() => {
      signal?.throwIfAborted()
      begun = true
      return work()
    })
    queue.tail = result.then(ignore, ignore).then(() => {
      if (cut) queue.starts.delete(cut)
      queue.waiting -= 1
      if (queue.waiting === 0) this.#queues.delete(key)
    })
    return signal === undefined ? result : orAborted(result, signal, () => begun)
  }
}

interface Queue {
  tail: Promise<void>
  waiting: number
  starts: Set<AbortController>
}

/**
 * The work's own answer once it has begun; before that an abort is not kept waiting for those
 * ahead.
 */
function orAborted<T>(result: Promise<T>, signal: AbortSignal, begun: () => boolean): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      if (!begun()) reject(signal.reason)
    }
    if (signal.aborted) onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort))
  })
}

function ignore(): void {}
