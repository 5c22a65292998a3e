import { type Clock, systemClock } from "./clock.ts"

/**
 * A signal that aborts with the given one, or after `ms` with a `TimeoutError` whose message
 * consists of `what` and the time.
 */
export function deadline(ms: number, what: string, signal?: AbortSignal, clock: Clock = systemClock): AbortSignal & Disposable {
  const controller = new AbortController()
  const over = new AbortController()
  const onAbort = () => controller.abort(signal?.reason)
  const expire = () => controller.abort(new DOMException(`${what} took longer than ${ms} ms`, "TimeoutError"))
  clock.sleep(ms, over.signal).then(expire, () => {})
  if (signal?.aborted) onAbort()
  else signal?.addEventListener("abort", onAbort, { once: true })
  return Object.assign(controller.signal, {
    [Symbol.dispose]() {
      over.abort()
      signal?.removeEventListener("abort", onAbort)
    },
  })
}

/** The result of `work`, unless the signal aborts first: then rejects with its reason at once. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort))
  })
}

export interface RetryOptions {
  /** Total number of attempts. Default 5. */
  maxAttempts?: number
  /** Wait before the second attempt; doubles each time up to `maxWaitMs`. Default 100. */
  firstWaitMs?: number
  /** Default 5,000. */
  maxWaitMs?: number
  /** Whether an error causes another attempt. Default: always. */
  when?: (error: unknown) => boolean
  clock?: Clock
  signal?: AbortSignal
}

/** Calls `work` until it succeeds or no attempt is left; then throws the last error. */
export async function retry<T>(work: (attempt: number) => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { maxAttempts = 5, firstWaitMs = 100, maxWaitMs = 5_000, when = () => true, clock = systemClock, signal } = options
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted()
    try {
      return await work(attempt)
    } catch (error) {
      if (attempt >= maxAttempts || !when(error)) throw error
      await clock.sleep(Math.min(maxWaitMs, firstWaitMs * 2 ** (attempt - 1)), signal)
    }
  }
}

/**
 * Runs at most `maxRunning` tasks at once. At most `maxWaiting` more wait; the next throws
 * `OverloadedError`.
 */
export class Semaphore {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #waiting: PromiseWithResolvers<void>[] = []
  #running = 0
  #closed: Error | undefined

  constructor(maxRunning: number, maxWaiting = Number.POSITIVE_INFINITY) {
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
  }

  /** Rejects all waiting and later tasks with this error. Running tasks continue. */
  close(reason: Error): void {
    this.#closed ??= reason
    for (const each of this.#waiting.splice(0)) each.reject(this.#closed)
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw this.#closed
    if (this.#running >= this.#maxRunning) {
      if (this.#waiting.length >= this.#maxWaiting) throw new OverloadedError(`${this.#maxWaiting} are waiting already`)
      const turn = Promise.withResolvers<void>()
      this.#waiting.push(turn)
      await turn.promise
    } else this.#running += 1
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next.resolve()
      else this.#running -= 1
    }
  }
}

/** The bounded queue of a `Semaphore` is full. */
export class OverloadedError extends Error {
  override readonly name = "OverloadedError"
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })
}
