import type { Writable } from "node:stream"

/** Each takes hundreds of bytes, however short it is. */
const maxWaiting = 64

/**
 * The writes that wait in a stream. A stream limits their bytes, and a sender of single bytes could
 * have as many wait as a stream may hold bytes.
 */
export class WaitingWrites {
  #count = 0

  /** False if no more may be written until the stream's `drain`, or until `onRoom` is called. */
  write(stream: Pick<Writable, "write" | "writableLength">, chunk: Buffer | string, onRoom: () => void): boolean {
    if (stream.writableLength === 0) this.#count = 0
    this.#count += 1
    if (this.#count < maxWaiting) return stream.write(chunk, "latin1")
    stream.write(chunk, "latin1", onRoom)
    return false
  }
}
