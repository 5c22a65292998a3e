import { connect, type Socket } from "node:net"
import { bounds } from "#contract"
import { PacedReader, sharedTurnBudget } from "#http"
import type { ProgramAddress, Visitor } from "../run-directory.ts"
import type { ResponseHead } from "./response-head.ts"
import { ResponseParser, type ResponseSink } from "./response-parser.ts"
import { WaitingWrites } from "./waiting-writes.ts"

/** A connection is never used for another key, another address or another visitor. */
export interface Upstream {
  key: string
  address: ProgramAddress
  visitor: Visitor
}

/**
 * Receives one response: its parts and `onEnd`, or some of its parts and then `onError`. No call
 * follows either, nor `destroy`.
 *
 * The chunk of `onData` is valid during the call only: its memory is reused.
 */
export interface ResponseHandler extends ResponseSink {
  onError(error: Error): void
  /** All received data was passed on, and the response has not ended. */
  onPause(): void
  /** The data that `write` had to buffer has been sent. */
  onDrain(): void
}

export interface ConnectionEvents {
  /** The connection may carry another request. */
  onIdle(connection: UpstreamConnection): void
  onClose(connection: UpstreamConnection): void
}

const connectTimeoutMs = bounds.gateway.connectMs.value
/**
 * All connections read into this buffer: a read is forwarded before the next one begins, and idle
 * connections need none.
 */
const memory = Buffer.allocUnsafeSlow(65_536)

/** One connection to a run's program, for one request after the other. */
export class UpstreamConnection implements ResponseSink {
  readonly upstream: Upstream
  readonly #socket: Socket
  readonly #events: ConnectionEvents
  readonly #parser = new ResponseParser()
  readonly #writes = new WaitingWrites()
  #handler: ResponseHandler | undefined
  #head: Pick<ResponseHead, "keepAlive" | "keepAliveMs" | "status"> | undefined
  #bodySent = false
  #uses = 0
  #answering = false
  readonly #reader = new PacedReader(
    () => this.#socket.resume(),
    sharedTurnBudget,
    () => this.#socket.pause(),
  )
  #isSevered = false
  /** The start of its idle time, by `performance.now()`, and the maximum. */
  idleAt = 0
  maxIdleMs = 4_000

  constructor(upstream: Upstream, events: ConnectionEvents) {
    const { address } = upstream
    this.upstream = upstream
    this.#events = events
    const socket = connect({
      host: address.host,
      port: address.port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      onread: { buffer: memory, callback: (length) => this.#read(length) },
    })
    this.#socket = socket
    const timer = setTimeout(() => this.#fail(new Error(`no connection within ${connectTimeoutMs} ms`)), connectTimeoutMs)
    // This listener runs before the buffered data is written.
    socket.once("connect", () => {
      clearTimeout(timer)
      if (address.isCurrent?.() === false) this.#fail(new Error("the run no longer has this address"))
    })
    socket.on("drain", this.#onRoom)
    socket.on("end", () => this.#finish())
    socket.on("error", (error) => this.#fail(error))
    socket.on("close", () => {
      clearTimeout(timer)
      this.#reader.leave()
      this.#fail(new Error("the program closed the connection"))
      events.onClose(this)
    })
  }

  /**
   * Whether a failure may mean no more than that the program was closing an idle connection: it
   * served an earlier request, and nothing of this response has arrived.
   */
  get isStale(): boolean {
    return this.#uses > 1 && !this.#answering && !this.#isSevered
  }

  /** Whether a part of a head is in memory whose rest has not arrived. */
  get holdsBytes(): boolean {
    return this.#parser.holdsBytes
  }

  get isUsable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable
  }

  /** Replaces the receiver of the rest of the response. */
  setHandler(handler: ResponseHandler): void {
    this.#handler = handler
  }

  /** Sends a request's head; then come `write` and `endBody`. */
  begin(request: { method: string; head: string }, handler: ResponseHandler): void {
    this.#reader.join(this.upstream.visitor.userId)
    this.#handler = handler
    this.#head = undefined
    this.#bodySent = false
    this.#answering = false
    this.#uses += 1
    this.#parser.begin(request.method, this)
    this.#socket.write(request.head, "latin1")
  }

  /** False when the rest should wait for `onDrain`. */
  write(chunk: Buffer | string): boolean {
    return this.#writes.write(this.#socket, chunk, this.#onRoom)
  }

  readonly #onRoom = (): void => this.#handler?.onDrain()

  /** Buffers writes until `uncork`, to send them as one. */
  cork(): void {
    this.#socket.cork()
  }

  uncork(): void {
    this.#socket.uncork()
  }

  endBody(): void {
    this.#bodySent = true
    if (this.#parser.isDone) this.#settle(false)
  }

  /** Ends this side of a tunnel, after all that was written. */
  end(): void {
    this.#socket.end()
  }

  /** To be called within `onData`: no more is read after this. */
  pause(): void {
    this.#reader.pause()
  }

  resume(): void {
    this.#reader.resume()
  }

  destroy(): void {
    this.#handler = undefined
    this.#parser.stop()
    this.#socket.destroy()
  }

  /** Like `destroy`, but the handler's request fails, and is not repeated at this address. */
  abort(): void {
    this.#isSevered = true
    this.#fail(new Error("the run ended or moved"))
  }

  onHead(head: ResponseHead): void {
    this.#head = { keepAlive: head.keepAlive && head.framing.kind !== "close", keepAliveMs: head.keepAliveMs, status: head.status }
    this.#handler?.onHead(head)
  }

  onData(chunk: Buffer): void {
    this.#handler?.onData(chunk)
  }

  onEnd(trailers: string[]): void {
    const handler = this.#handler
    this.#handler = undefined
    handler?.onEnd(trailers)
  }

  /** False stops the reading until `resume`. */
  #read(length: number): boolean {
    if (this.#handler === undefined) this.destroy()
    else this.#take(length === memory.length ? memory : memory.subarray(0, length))
    return this.#reader.countRead(this.upstream.visitor.userId, length)
  }

  #take(chunk: Buffer): void {
    this.#answering = true
    try {
      const used = this.#parser.feed(chunk)
      if (this.#parser.isDone) this.#settle(used < chunk.length)
      else this.#handler?.onPause()
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  /** Reuses the connection only if request and response have both ended, without surplus bytes. */
  #settle(isSurplus: boolean): void {
    if (this.#handler !== undefined) return
    if (isSurplus || !this.#bodySent || !this.#head?.keepAlive || !this.isUsable) return void this.destroy()
    this.#reader.resume()
    this.idleAt = performance.now()
    this.maxIdleMs = Math.min(60_000, this.#head.keepAliveMs === undefined ? 4_000 : Math.max(0, this.#head.keepAliveMs - 1_000))
    this.#events.onIdle(this)
  }

  #finish(): void {
    try {
      this.#parser.finish()
      this.destroy()
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #fail(error: Error): void {
    const handler = this.#handler
    this.destroy()
    handler?.onError(error)
  }
}
