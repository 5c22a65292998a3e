import type { IncomingMessage } from "node:http"
import { Failure } from "#contract"

/**
 * The second look falls after what is kept of proof and right, two seconds, so a withdrawal is felt
 * within three seconds of being known to the main process.
 */
const revalidateEveryMs = 1_500
/**
 * What tells that somebody may no longer do what they are doing; at everything else (a crowd, a
 * main process that restarts) they go on.
 */
const fatalStatuses: ReadonlySet<number> = new Set([401, 403, 404])

/** What is asked again and again of a request under way. */
interface OpenRequest {
  readonly incoming: IncomingMessage
  readonly revalidate: () => Promise<void>
  assertVisible(): Promise<unknown>
}

/**
 * The requests under way. One that takes long is asked about again and again: whoever may no longer
 * do what they are doing is cut off.
 */
export class OpenRequests implements Disposable {
  readonly #open = new Map<OpenRequest, (refusal: Failure) => void>()
  /** Those that were open at the last look. */
  #long: ReadonlySet<OpenRequest> = new Set()
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#timer = setInterval(() => this.#look(), revalidateEveryMs)
    this.#timer.unref()
  }

  /** Until what is returned is disposed of; `told` hears why it is cut off. */
  add(request: OpenRequest, told: (refusal: Failure) => void): Disposable {
    this.#open.set(request, told)
    return { [Symbol.dispose]: () => this.#open.delete(request) }
  }

  #look(): void {
    for (const request of this.#open.keys()) if (this.#long.has(request)) void this.#check(request)
    this.#long = new Set(this.#open.keys())
  }

  async #check(request: OpenRequest): Promise<void> {
    try {
      await request.revalidate()
      await request.assertVisible()
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
