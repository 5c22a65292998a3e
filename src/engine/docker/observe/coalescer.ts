/**
 * Shares concurrent runs of the same work. Each caller gets the result of a run that began after
 * its call, which therefore misses no earlier event.
 */
export class Coalescer<T> {
  readonly #work: () => Promise<T>
  #running: Promise<T> | undefined
  #next: Promise<T> | undefined

  constructor(work: () => Promise<T>) {
    this.#work = work
  }

  run(): Promise<T> {
    if (!this.#running) return this.#begin()
    this.#next ??= this.#running.then(
      () => this.#begin(),
      () => this.#begin(),
    )
    return this.#next
  }

  /** Resolves when no run is in progress; never rejects. */
  async whenIdle(): Promise<void> {
    while (this.#running) await this.#running.catch(() => {})
  }

  #begin(): Promise<T> {
    this.#next = undefined
    const running = this.#work().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }
}
