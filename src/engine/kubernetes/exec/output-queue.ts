import type { ExecOutput } from "../../exec.ts"

/** The kubelet sends at most this much at once; more than that waits in the connection. */
const maxBytes = 2 ** 20
/** Approximate memory of a piece of output beside its bytes. A program may print single bytes. */
const overheadBytes = 256

/** Output of a program that nobody has read yet. */
export class OutputQueue {
  readonly #pieces: ExecOutput[] = []
  #bytes = 0

  /** Whether the program must wait. */
  get isFull(): boolean {
    return this.#bytes >= maxBytes
  }

  push(piece: ExecOutput): void {
    this.#pieces.push(piece)
    this.#bytes += piece.data.length + overheadBytes
  }

  shift(): ExecOutput | undefined {
    const next = this.#pieces.shift()
    if (next) this.#bytes -= next.data.length + overheadBytes
    return next
  }
}
