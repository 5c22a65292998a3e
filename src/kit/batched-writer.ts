import type { Clock } from "./clock.ts"

export interface BatchedWriterOptions {
  clock: Clock
  /** Milliseconds that a line waits at most. Default 250. */
  waitMs?: number
  /** Characters that are kept at most; then they are written at once. Default 64 Ki. */
  maxChars?: number
}

/**
 * Writes many short texts as few long ones: a write for each costs more than what it tells. What
 * was given is written in its order, within `waitMs`; what ends the process flushes first.
 */
export class BatchedWriter {
  readonly #write: (text: string) => void
  readonly #options: Required<BatchedWriterOptions>
  #kept = ""
  #isWaiting = false

  constructor(write: (text: string) => void, options: BatchedWriterOptions) {
    this.#write = write
    this.#options = { waitMs: 250, maxChars: 64 * 1024, ...options }
  }

  add(text: string): void {
    this.#kept += text
    if (this.#kept.length >= this.#options.maxChars) this.flush()
    else if (!this.#isWaiting) void this.#flushLater()
  }

  flush(): void {
    if (this.#kept === "") return
    const text = this.#kept
    this.#kept = ""
    this.#write(text)
  }

  async #flushLater(): Promise<void> {
    this.#isWaiting = true
    await this.#options.clock.sleep(this.#options.waitMs)
    this.#isWaiting = false
    this.flush()
  }
}
