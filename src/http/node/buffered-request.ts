import type { IncomingMessage } from "node:http"
import { ChunkBuffer, isMostlyTinyChunks } from "#kit"
import { IncomingMessage as Incoming } from "./http.ts"

/** From here on a piece goes on as it came. */
const long = 4_096

/**
 * A server's request whose body costs its bytes, however it is cut: Node hands each chunk on by
 * itself, with an object for each, also while nobody reads. What one read from the socket brought
 * goes on together, at the end of the body or of the event loop's turn.
 */
class BufferedRequest extends Incoming {
  /** Of the body so far: bytes, and the pieces that they came in. */
  length = 0
  count = 0
  #held: ChunkBuffer | undefined

  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#handOn()
      return super.push(null)
    }
    this.length += chunk.length
    this.count += 1
    const holds = this.#held !== undefined && this.#held.length > 0
    if (chunk.length >= long && !holds) return super.push(chunk)
    this.#held ??= new ChunkBuffer()
    if (!holds) setImmediate(() => this.#handOn())
    this.#held.add(chunk)
    return this.readableLength + this.#held.length < this.readableHighWaterMark
  }

  #handOn(): void {
    for (const buffer of this.#held?.take() ?? []) if (!this.destroyed) super.push(buffer)
  }
}

/**
 * Options of `createServer`. A request that says nothing of a body has ended when it comes: the
 * life of a stream of which nobody reads costs a tenth of a short request. It is told neither `end`
 * nor `close`, so ask `hasBody` before reading.
 */
export const serverOptions = { IncomingMessage: BufferedRequest as typeof IncomingMessage, optimizeEmptyRequests: true }

/** Whether a body's sender cuts so small that reading costs more than sending. */
export function hasTinyChunks(request: IncomingMessage): boolean {
  return request instanceof BufferedRequest && isMostlyTinyChunks(request)
}
