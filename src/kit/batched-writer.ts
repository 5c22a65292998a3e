import type { Clock } from "./clock.ts"

export interface BatchedWriterOptions {
  clock: Clock
  /** Maximum time between `add` and the write. Default 250. */
  waitMs?: number
  /** Number of buffered characters that causes a write at once. Default 64 Ki. */
  maxChars?: number
}

/**
 * Combines many short texts into few writes, in their order. Code that ends the process must call
 * `flush` first.
 */
export class BatchedWriter {
  readonly #write: (text: string) => void
  readonly #options: Required<BatchedWriterOptions>
  #buffered = ""
  #isWaiting = false

  constructor(write: (text: string) => void, options: BatchedWriterOptions) {
    this.#write = write
    this.#options = { waitMs: 250, maxChars: 64 * 1024, ...options }
  }

  add(text: string): void {
    this.#buffered += text
    if (this.#buffered.length >= this.#options.maxChars) this.flush()
    else if (!this.#isWaiting) void this.#flushLater()
  }

  flush(): void {
    if (this.#buffered === "") return
    const text = this.#buffered
    this.#buffered = ""
    this.#write(text)
  }

  async #flushLater(): Promise<void> {
    this.#isWaiting = true
    await this.#options.clock.sleep(this.#options.waitMs)
    this.#isWaiting = false
    this.flush()
  }
}
