import { bounds } from "#contract"
import { encodeCredit, encodeData, encodeFrame, encodeJson, frameKinds, maxDataBytes } from "./frames.ts"
import { StreamError, type StreamErrorCode } from "./stream-error.ts"

const maxCredit = 2 ** 31
/** A data frame uses this much credit beside its bytes, so that tiny frames cost no memory. */
export const frameCost = 128

export type JsonObject = Readonly<Record<string, unknown>>

/** One chunk of data, and the part that it belongs to. */
export interface Chunk {
  part: number
  data: Uint8Array
}

/** The part of a multiplexer that its streams use. */
export interface StreamOwner {
  send(frame: Uint8Array): void
  /** Memory for a frame of data; undefined: new memory. */
  allocate(bytes: number): Uint8Array | undefined
  /** The stream has data that it may send. */
  schedule(stream: ChannelStream): void
  /** The stream is over on both sides. */
  forget(stream: ChannelStream): void
}

interface PendingWrite {
  part: number
  data: Uint8Array
  done: PromiseWithResolvers<void>
}

/**
 * One stream of a control connection. Both sides send chunks, each as far as the other has granted
 * credit, and messages. It is over after `finish` or `fail` of either side.
 */
export class ChannelStream {
  readonly id: number
  /** Receives the peer's messages. */
  onMessage: (message: JsonObject) => void = () => {}
  readonly #owner: StreamOwner
  readonly #accepted = Promise.withResolvers<JsonObject>()
  readonly #done = Promise.withResolvers<JsonObject>()
  readonly #writes: PendingWrite[] = []
  /** Those before `#nextChunk` are read. */
  readonly #chunks: Chunk[] = []
  #nextChunk = 0
  #reader: PromiseWithResolvers<Chunk | undefined> | undefined
  #credit: number = bounds.control.windowBytes.value
  #window: number = bounds.control.windowBytes.value
  /** Received bytes for which the peer has no new credit yet. */
  #held = 0
  #consumed = 0
  #isOver = false
  #error: StreamError | undefined
  #peerEnded = false
  #ending: "no" | "end" | { result: JsonObject } = "no"

  constructor(id: number, owner: StreamOwner) {
    this.id = id
    this.#owner = owner
    this.#accepted.promise.catch(() => {})
    this.#done.promise.catch(() => {})
  }

  /** Resolves when the peer accepted the stream; rejects with a `StreamError`. */
  get accepted(): Promise<JsonObject> {
    return this.#accepted.promise
  }

  /** Resolves with the stream's result; rejects with a `StreamError`. */
  get done(): Promise<JsonObject> {
    return this.#done.promise
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Why it is over without a result. */
  get error(): StreamError | undefined {
    return this.#error
  }

  accept(answer: JsonObject = {}): void {
    if (!this.#isOver) this.#owner.send(encodeJson(frameKinds.accept, this.id, answer))
  }

  sendMessage(message: JsonObject): void {
    if (!this.#isOver) this.#owner.send(encodeJson(frameKinds.message, this.id, message))
  }

  /** Resolves when all bytes are sent; rejects when the stream is over. */
  write(data: Uint8Array, part = 0): Promise<void> {
    if (this.#isOver) return Promise.reject(this.#error ?? new StreamError("cancelled", "The stream is over"))
    if (this.#ending !== "no") return Promise.reject(new StreamError("cancelled", "The stream's data has ended"))
    const done = Promise.withResolvers<void>()
    this.#writes.push({ part, data, done })
    this.#owner.schedule(this)
    return done.promise
  }

  /** Like `write`, for memory that the caller uses again as soon as this returns. */
  writeCopy(data: Uint8Array): Promise<void> {
    const sent = this.write(data)
    const unsent = this.#writes.at(-1)
    if (unsent?.data.buffer === data.buffer) unsent.data = unsent.data.slice()
    return sent
  }

  /** Ends this side's data after everything written. */
  end(): void {
    if (this.#ending !== "no" || this.#isOver) return
    this.#ending = "end"
    this.#endIfSent()
  }

  /** Ends the stream with its result, after everything written. */
  finish(result: JsonObject = {}): void {
    if (this.#isOver || typeof this.#ending === "object") return
    this.#ending = { result }
    this.#endIfSent()
  }

  /** Ends the stream at once; unsent data is dropped. */
  fail(code: StreamErrorCode, msg: string): void {
    if (this.#isOver) return
    this.#owner.send(encodeJson(frameKinds.close, this.id, { code, msg }))
    this.abort(new StreamError(code, msg))
  }

  /** Grants the peer a wider window. */
  widenWindow(bytes: number): void {
    if (this.#isOver || bytes <= this.#window) return
    this.#owner.send(encodeCredit(this.id, bytes - this.#window))
    this.#window = bytes
  }

  /**
   * The next chunk; undefined after the last. Rejects with a `StreamError` when the stream fails.
   * The peer gets credit for a chunk when it is taken.
   */
  read(): Promise<Chunk | undefined> {
    const chunk = this.#takeChunk()
    if (chunk) {
      this.#giveCredit(chunk.data.length)
      return Promise.resolve(chunk)
    }
    if (this.#error) return Promise.reject(this.#error)
    if (this.#peerEnded || this.#isOver) return Promise.resolve(undefined)
    this.#reader ??= Promise.withResolvers()
    return this.#reader.promise
  }

  /** There may be tens of thousands: `shift` would move all that follow, each time. */
  #takeChunk(): Chunk | undefined {
    const chunk = this.#chunks[this.#nextChunk]
    if (!chunk) return undefined
    this.#nextChunk += 1
    if (2 * this.#nextChunk >= this.#chunks.length) {
      this.#chunks.splice(0, this.#nextChunk)
      this.#nextChunk = 0
    }
    return chunk
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk> {
    for (let chunk = await this.read(); chunk; chunk = await this.read()) yield chunk
  }

  /** Sends one frame of pending data. Returns whether more could be sent. */
  sendNext(): boolean {
    const next = this.#writes[0]
    if (!next || this.#isOver) return false
    const length = Math.min(maxDataBytes, this.#credit - frameCost, next.data.length)
    if (length <= 0 && next.data.length > 0) return false
    if (length > 0) this.#credit -= length + frameCost
    if (length > 0)
      this.#owner.send(encodeData(next.data.subarray(0, length), { stream: this.id, part: next.part, allocate: this.#owner.allocate }))
    next.data = next.data.subarray(length)
    if (next.data.length === 0) {
      this.#writes.shift()
      next.done.resolve()
      this.#endIfSent()
    }
    return this.#writes.length > 0 && this.#credit > frameCost
  }

  receiveAccept(answer: JsonObject): void {
    this.#accepted.resolve(answer)
  }

  /** False if the peer sent more than it had credit for, or after its end. */
  receiveData(part: number, data: Uint8Array): boolean {
    this.#held += data.length + frameCost
    if (this.#held > this.#window || this.#peerEnded) return false
    if (data.length === 0) return true
    const reader = this.#reader
    this.#reader = undefined
    if (!reader) this.#chunks.push({ part, data })
    else {
      this.#giveCredit(data.length)
      reader.resolve({ part, data })
    }
    return true
  }

  /** False if the peer would have more credit than any side can use. */
  receiveCredit(bytes: number): boolean {
    if (this.#credit + bytes > maxCredit) return false
    this.#credit += bytes
    if (this.#writes.length > 0) this.#owner.schedule(this)
    return true
  }

  receiveEnd(): void {
    this.#peerEnded = true
    this.#reader?.resolve(undefined)
    this.#reader = undefined
  }

  receiveClose(close: JsonObject): void {
    if (typeof close.code === "string") return void this.abort(new StreamError(close.code, String(close.msg ?? "")))
    const { result } = close
    this.#settle(typeof result === "object" && result !== null ? (result as JsonObject) : {})
  }

  /** The stream is over without a result. */
  abort(error: StreamError): void {
    if (this.#isOver) return
    this.#error = error
    this.#over()
    this.#chunks.length = 0
    this.#nextChunk = 0
    this.#accepted.reject(error)
    this.#done.reject(error)
    this.#reader?.reject(error)
  }

  #endIfSent(): void {
    if (this.#writes.length > 0 || this.#isOver || this.#ending === "no") return
    if (this.#ending === "end") return void this.#owner.send(encodeFrame(frameKinds.end, this.id))
    this.#owner.send(encodeJson(frameKinds.close, this.id, { result: this.#ending.result }))
    this.#settle(this.#ending.result)
  }

  #settle(result: JsonObject): void {
    if (this.#isOver) return
    this.#over()
    this.#accepted.resolve({})
    this.#done.resolve(result)
    this.#reader?.resolve(undefined)
  }

  #over(): void {
    this.#isOver = true
    this.#owner.forget(this)
    const over = this.#error ?? new StreamError("cancelled", "The stream is over")
    for (const { done } of this.#writes.splice(0)) {
      done.promise.catch(() => {})
      done.reject(over)
    }
  }

  /** Credit is granted for half a window at a time: fewer frames. */
  #giveCredit(bytes: number): void {
    this.#consumed += bytes + frameCost
    if (this.#consumed < this.#window / 2 || this.#isOver || this.#peerEnded) return
    this.#held -= this.#consumed
    this.#owner.send(encodeCredit(this.id, this.#consumed))
    this.#consumed = 0
  }
}
