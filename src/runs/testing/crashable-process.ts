import type { FakeDaemon } from "#engine"
import type { Change, Store } from "#store"
import { type AnyMethod, wrapMethods } from "./wrap-methods.ts"

const never = new Promise<never>(() => {})

/**
 * A process that can crash between any two external operations. After the crash its calls to store
 * and engine have no effect and never settle, as after `kill -9`.
 */
export class CrashableProcess {
  /** Number of operations so far. */
  steps = 0
  readonly #crashesAt: number
  readonly crashed = Promise.withResolvers<void>()

  constructor(crashesAt = Number.POSITIVE_INFINITY) {
    this.#crashesAt = crashesAt
  }

  get isCrashed(): boolean {
    return this.steps >= this.#crashesAt || this.#killed
  }
  #killed = false

  kill(): void {
    this.#killed = true
    this.crashed.resolve()
  }

  /** Whether the process survives one more step. */
  #step(): boolean {
    if (!this.isCrashed) this.steps += 1
    if (this.isCrashed) this.crashed.resolve()
    return !this.isCrashed
  }

  /**
   * The process may crash before and after the operation. An operation that began before the crash
   * still completes.
   */
  async #perform<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#step()) return never
    const result = await work().then(
      (value) => () => value,
      (error: unknown) => () => {
        throw error
      },
    )
    return this.#step() ? result() : never
  }

  store(real: Store): Store {
    const change = <T>(work: (tx: Change) => Promise<T>) => this.#perform(() => real.change((tx) => work(this.#tx(tx))))
    const runs = wrapMethods(
      real.runs,
      (_, method) =>
        (...args) =>
          this.#perform(() => method(...args) as Promise<unknown>),
    )
    return wrapMethods(real, (name, method) => (name === "change" ? (change as AnyMethod) : method), { runs })
  }

  /** A process that crashes at COMMIT does not call its after-commit callbacks. */
  #tx(real: Change): Change {
    return wrapMethods(real, (name, method) => {
      if (name !== "afterCommit") return method
      return (effect) => real.afterCommit(() => this.#step() && (effect as () => void)())
    })
  }

  fake(real: FakeDaemon): FakeDaemon {
    const clock = {
      now: () => real.clock.now(),
      monotonic: () => real.clock.monotonic(),
      sleep: (ms: number, signal?: AbortSignal) => this.#perform(() => real.clock.sleep(ms, signal)),
    }
    const act = (_: string, method: AnyMethod): AnyMethod => {
      return (...args) => {
        if (this.isCrashed) return never
        const result = method(...args)
        return result instanceof Promise ? this.#perform(() => result) : result
      }
    }
    return wrapMethods(real, act, { clock })
  }
}
