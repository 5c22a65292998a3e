import { type Clock, systemClock } from "./clock.ts"

/**
 * A signal that is aborted when the given one is, or after `ms` with a `TimeoutError` whose message
 * is `what` and the time.
 */
export function deadline(ms: number, what: string, signal?: AbortSignal): AbortSignal & Disposable {
  const controller = new AbortController()
  const onAbort = () => controller.abort(signal?.reason)
  const timer = setTimeout(() => controller.abort(new DOMException(`${what} took longer than ${ms} ms`, "TimeoutError")), ms)
  timer.unref()
  if (signal?.aborted) onAbort()
  else signal?.addEventListener("abort", onAbort, { once: true })
  return Object.assign(controller.signal, {
    [Symbol.dispose]() {
      clearTimeout(timer)
      signal?.removeEventListener("abort", onAbort)
    },
  })
}

/**
 * The work's own outcome, unless the signal is aborted first: then rejects with its reason, and
 * nobody waits for the work.
 */
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
  /** How often in all, the first included. Default 5. */
  attempts?: number
  /** Milliseconds before the second attempt; doubled each time up to `maxWaitMs`. Default 100. */
  firstWaitMs?: number
  /** Default 5,000. */
  maxWaitMs?: number
  /** Which failures are worth another attempt. Default: all. */
  when?: (error: unknown) => boolean
  clock?: Clock
  signal?: AbortSignal
}

/** Runs `work` until it succeeds or the attempts are used up; the last failure is thrown. */
export async function retry<T>(work: (attempt: number) => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { attempts = 5, firstWaitMs = 100, maxWaitMs = 5_000, when = () => true, clock = systemClock, signal } = options
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted()
    try {
      return await work(attempt)
    } catch (error) {
      if (attempt >= attempts || !when(error)) throw error
      await clock.sleep(Math.min(maxWaitMs, firstWaitMs * 2 ** (attempt - 1)), signal)
    }
  }
}

/**
 * Lets at most `width` pieces of work run at once and at most `queue` more wait; a further one is
 * refused with `Overloaded`.
 */
export class Semaphore {
  readonly #width: number
  readonly #queue: number
  readonly #waiting: PromiseWithResolvers<void>[] = []
  #running = 0
  #closed: Error | undefined

  constructor(width: number, queue = Number.POSITIVE_INFINITY) {
    this.#width = width
    this.#queue = queue
  }

  /** Refuses whoever waits, and from now on everybody, with this error. What runs goes on. */
  close(reason: Error): void {
    this.#closed ??= reason
    for (const each of this.#waiting.splice(0)) each.reject(this.#closed)
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw this.#closed
    if (this.#running >= this.#width) {
      if (this.#waiting.length >= this.#queue) throw new Overloaded(`${this.#queue} are waiting already`)
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
export class Overloaded extends Error {
  override readonly name = "Overloaded"
}
