import type { OperationId } from "#contract"

/** The pause between two reads of one operation, so that many events cost one read. */
const minPauseMs = 700
/**
 * The pause doubles up to this while events keep coming: somebody who changes a published object
 * over and over would make every open page read it again and again.
 */
const maxPauseMs = 5_000

interface Pending {
  isStale: boolean
  pauseMs: number
  timer: ReturnType<typeof setTimeout>
}

/** Reads the answers of operations again: at once after the first event, then after each pause. */
export class Refresher {
  readonly #read: (operation: OperationId) => void
  /** The operations that were read within the last pause. */
  readonly #pending = new Map<OperationId, Pending>()

  constructor(read: (operation: OperationId) => void) {
    this.#read = read
  }

  add(operations: readonly OperationId[]): void {
    for (const operation of operations) {
      const pending = this.#pending.get(operation)
      if (pending) pending.isStale = true
      else this.#readThenPause(operation, minPauseMs)
    }
  }

  stop(): void {
    for (const { timer } of this.#pending.values()) clearTimeout(timer)
    this.#pending.clear()
  }

  #readThenPause(operation: OperationId, pauseMs: number): void {
    this.#read(operation)
    this.#pending.set(operation, { isStale: false, pauseMs, timer: setTimeout(() => this.#endPause(operation), pauseMs) })
  }

  #endPause(operation: OperationId): void {
    const pending = this.#pending.get(operation)
    this.#pending.delete(operation)
    if (pending?.isStale) this.#readThenPause(operation, Math.min(pending.pauseMs * 2, maxPauseMs))
  }
}
