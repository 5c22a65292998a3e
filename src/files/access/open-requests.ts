import type { IncomingMessage } from "node:http"
import { Failure } from "#contract"

/**
 * Cached identities and rights expire after two seconds, so a revoked right ends the request at the
 * second check: within three seconds.
 */
const revalidateEveryMs = 1_500
/**
 * Statuses that end the request. Others, such as an overload or a restarting main process, do not.
 */
const fatalStatuses: ReadonlySet<number> = new Set([401, 403, 404])

/** The part of a request that a repeated check needs. */
interface OpenRequest {
  readonly incoming: IncomingMessage
  readonly revalidate: () => Promise<void>
  /** Throws when the caller lost a right that the request needs to its end. */
  assertStillAllowed(): Promise<unknown>
}

/**
 * The requests under way. A long one is authenticated and authorized again at intervals; its
 * connection is closed when that fails.
 */
export class OpenRequests implements Disposable {
  readonly #open = new Map<OpenRequest, (refusal: Failure) => void>()
  /** Requests that were already open at the last check. */
  #long: ReadonlySet<OpenRequest> = new Set()
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#timer = setInterval(() => this.#checkLongOnes(), revalidateEveryMs)
    this.#timer.unref()
  }

  /**
   * Registers a request until the result is disposed of. `onRefused` receives the failure that
   * closed it.
   */
  add(request: OpenRequest, onRefused: (refusal: Failure) => void): Disposable {
    this.#open.set(request, onRefused)
    return { [Symbol.dispose]: () => this.#open.delete(request) }
  }

  #checkLongOnes(): void {
    for (const request of this.#open.keys()) if (this.#long.has(request)) void this.#check(request)
    this.#long = new Set(this.#open.keys())
  }

  async #check(request: OpenRequest): Promise<void> {
    try {
      await request.revalidate()
      await request.assertStillAllowed()
    } catch (error) {
      if (!(error instanceof Failure) || !fatalStatuses.has(error.status)) return
      this.#open.get(request)?.(error)
      if (this.#open.delete(request)) request.incoming.socket.destroy()
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
