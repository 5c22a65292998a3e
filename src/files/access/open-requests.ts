import { Failure } from "#contract"
import type { Call } from "../requests/dav-request.ts"

/**
 * The second look falls after what is kept of proof and right, two seconds, so a withdrawal is felt
 * within three seconds of being known to the main process.
 */
const lookEveryMs = 1_500
/**
 * What tells that somebody may no longer do what they are doing; at everything else (a crowd, a
 * main process that restarts) they go on.
 */
const ends: ReadonlySet<number> = new Set([401, 403, 404])

/**
 * The requests under way. One that takes long is asked about again and again: whoever may no longer
 * do what they are doing is cut off.
 */
export class OpenCalls implements Disposable {
  readonly #open = new Map<Call, (refusal: Failure) => void>()
  /** Those that were open at the last look. */
  #long: ReadonlySet<Call> = new Set()
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#timer = setInterval(() => this.#look(), lookEveryMs)
    this.#timer.unref()
  }

  /** Until what is returned is disposed of; `told` hears why it is cut off. */
  add(call: Call, told: (refusal: Failure) => void): Disposable {
    this.#open.set(call, told)
    return { [Symbol.dispose]: () => this.#open.delete(call) }
  }

  #look(): void {
    for (const call of this.#open.keys()) if (this.#long.has(call)) void this.#check(call)
    this.#long = new Set(this.#open.keys())
  }

  async #check(call: Call): Promise<void> {
    try {
      await call.renew()
      await call.visible()
    } catch (error) {
      if (!(error instanceof Failure) || !ends.has(error.status)) return
      this.#open.get(call)?.(error)
      if (this.#open.delete(call)) call.request.socket.destroy()
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
