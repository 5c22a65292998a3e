import type { IncomingMessage } from "node:http"
import { ChunkBuffer, isMostlyTinyChunks } from "#kit"
import { reportCostlyRead } from "../connections/connection-limiter.ts"
import { IncomingMessage as Incoming } from "./http.ts"

/** Chunks of this length and more are passed on unchanged. */
const long = 4_096
/** The chunks of one read that take about a millisecond. */
const maxChunksOfRead = 500

/**
 * A server's request whose body costs its bytes, however small its chunks are. Node pushes each
 * chunk as an object of its own, even while nobody reads. The chunks of one read from the socket
 * are pushed together, at the end of the body or of the event loop's turn. (Node 26.10. If Node
 * pushes bodies in another way, `buffered-request.test.ts` fails.)
 */
class BufferedRequest extends Incoming {
  /** The bytes of the body so far, and its chunks. */
  length = 0
  count = 0
  #held: ChunkBuffer | undefined
  /** The chunks in `#held`. */
  #heldCount = 0

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
    this.#heldCount += 1
    if (this.#heldCount === maxChunksOfRead) reportCostlyRead(this.socket)
    return this.readableLength + this.#held.length < this.readableHighWaterMark
  }

  /**
   * Node calls this when the request is answered before its body has come. Its own would let no
   * more chunks pass `push`, and they would not be counted.
   */
  _dump(): void {
    this.removeAllListeners("data").resume()
  }

  #handOn(): void {
    this.#heldCount = 0
    for (const buffer of this.#held?.take() ?? []) if (!this.destroyed) super.push(buffer)
  }
}

/**
 * Options of `createServer`. A request without a body has ended from the start, which saves a tenth
 * of a short request's time. It emits neither `end` nor `close`, so call `hasBody` before reading.
 */
export const serverOptions = { IncomingMessage: BufferedRequest as typeof IncomingMessage, optimizeEmptyRequests: true }

/** Whether the chunks of a body are so small that reading costs more than sending. */
export function hasTinyChunks(request: IncomingMessage): boolean {
  return request instanceof BufferedRequest && isMostlyTinyChunks(request)
}
