/**
 * Work that many ask for at once and that is done for all of them together. Whoever asks gets the
 * outcome of work that began after they asked, so that it misses nothing that happened before.
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

  /** Resolves when nothing of it is under way; never rejects. */
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
