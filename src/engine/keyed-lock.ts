import { EngineError } from "./engine.ts"

/**
 * Runs the starts and stops of one key one at a time, in the order of the calls.
 *
 * A stop aborts every earlier start, so it need not wait for a pull. Each aborted start has failed
 * and cleaned up before the stop's work begins.
 */
export class KeyedLock {
  readonly #queues = new Map<string, Queue>()

  /**
   * Runs `work` when the key is free. Rejects at once, without running it, if the signal is aborted
   * while it waits.
   */
  runAbortable<T>(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    const both = AbortSignal.any([signal, controller.signal])
    return this.#enqueue(key, both, () => work(both), controller)
  }

  /** Aborts the earlier starts of the key, and runs `work` when they have ended. */
  abortAndRun(key: string, signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
    for (const controller of this.#queues.get(key)?.starts ?? []) {
      controller.abort(new EngineError("engine_error", "The run was stopped during its start"))
    }
    return this.#enqueue(key, signal, work)
  }

  /** Runs `work` under the lock, or does nothing if the key is already locked. */
  runIfFree(key: string, work: () => Promise<void>): Promise<void> {
    return this.isLocked(key) ? Promise.resolve() : this.#enqueue(key, undefined, work)
  }

  /** Whether work of the key runs or waits. */
  isLocked(key: string): boolean {
    return this.#queues.has(key)
  }

  #enqueue<T>(key: string, signal: AbortSignal | undefined, work: () => Promise<T>, controller?: AbortController): Promise<T> {
    const queue = this.#queues.get(key) ?? { tail: Promise.resolve(), waiting: 0, starts: new Set() }
    this.#queues.set(key, queue)
    queue.waiting += 1
    if (controller) queue.starts.add(controller)
    let hasBegun = false
    const result = queue.tail.then(() => {
      signal?.throwIfAborted()
      hasBegun = true
      return work()
    })
    queue.tail = result.then(ignore, ignore).then(() => {
      if (controller) queue.starts.delete(controller)
      queue.waiting -= 1
      if (queue.waiting === 0) this.#queues.delete(key)
    })
    return signal === undefined ? result : rejectOnAbort(result, signal, () => hasBegun)
  }
}

interface Queue {
  tail: Promise<void>
  waiting: number
  starts: Set<AbortController>
}

/**
 * The result of the work. Before the work begins an abort rejects at once, without waiting for the
 * queue.
 */
function rejectOnAbort<T>(result: Promise<T>, signal: AbortSignal, hasBegun: () => boolean): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      if (!hasBegun()) reject(signal.reason)
    }
    if (signal.aborted) onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort))
  })
}

function ignore(): void {}
