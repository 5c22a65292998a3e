/** Counts the requests that are not answered yet. */
export class PendingRequests {
  #size = 0
  readonly #waiting = new Set<() => void>()

  get size(): number {
    return this.#size
  }

  begin(): void {
    this.#size += 1
  }

  end(): void {
    this.#size -= 1
    if (this.#size === 0) for (const resolve of this.#waiting) resolve()
  }

  /** Resolves when no request is pending, or after this time. */
  async waitUntilNone(timeoutMs: number): Promise<void> {
    if (this.#size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    const late = setTimeout(resolve, timeoutMs)
    await promise
    clearTimeout(late)
    this.#waiting.delete(resolve)
  }
}
