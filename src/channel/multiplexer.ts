import { bounds } from "#contract"
import { ChannelStream, type JsonObject } from "./channel-stream.ts"
import { decodeFrame, decodeJson, encodeFrame, encodeJson, type Frame, frameKinds, readUint32 } from "./frames.ts"
import { StreamError, type StreamErrorCode } from "./stream-error.ts"

/** The connection below a multiplexer. */
export interface Transport {
  send(frame: Uint8Array): void
  /** Memory for a frame of data that is sent next. Default: new memory. */
  allocate?(bytes: number): Uint8Array
  /** Whether data should wait until `Multiplexer.resume` is called. */
  readonly isCongested: boolean
  close(status: number, reason: string): void
}

/** The WebSocket statuses that a side closes a connection with, besides 1000, 1001 and 1009. */
export const closeStatus = { badFrames: 4400, revoked: 4403, runEnded: 4404, silent: 4408 } as const

export interface MultiplexerOptions {
  transport: Transport
  /** Clients open streams with odd IDs, servers with even ones. */
  side: "client" | "server"
  /** A stream that the peer opened. Default: refused. */
  onOpen?: (stream: ChannelStream, request: JsonObject) => void
  /** The maximum of open streams that the peer opened. */
  maxStreams?: number
}

const { badFrames, frameBytes, messageBytes, silentMs, streams } = bounds.control

/** Many streams on one connection, each with its own flow control. */
export class Multiplexer {
  readonly #transport: Transport
  readonly #options: MultiplexerOptions
  readonly #streams = new Map<number, ChannelStream>()
  readonly #closed = Promise.withResolvers<StreamError>()
  /** Streams with data to send, in turn. */
  readonly #ready = new Set<ChannelStream>()
  readonly #timer: ReturnType<typeof setInterval>
  #nextId: number
  #lastPeerId = 0
  #badFrames = 0
  #receivedAt = Date.now()
  #isClosed = false
  #isPumping = false

  constructor(options: MultiplexerOptions) {
    this.#options = options
    this.#transport = options.transport
    this.#nextId = options.side === "client" ? 1 : 2
    this.#timer = setInterval(() => this.#checkPeer(), silentMs.value / 3)
    const { unref } = this.#timer as { unref?: () => void }
    unref?.call(this.#timer)
  }

  /** Resolves with the reason when the connection is closed. */
  get closed(): Promise<StreamError> {
    return this.#closed.promise
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get streamCount(): number {
    return this.#streams.size
  }

  /** Opens a stream of a kind. Its `accepted` and `done` reject if the connection is closed. */
  open(kind: string, options: JsonObject = {}): ChannelStream {
    const stream = new ChannelStream(this.#nextId, this.#owner)
    this.#nextId += 2
    if (this.#isClosed) {
      stream.abort(new StreamError("connection_lost", "The control connection is closed"))
      return stream
    }
    const frame = encodeJson(frameKinds.open, stream.id, { kind, ...options })
    if (frame.length > frameBytes.value) {
      stream.abort(new StreamError("invalid", `The options of a stream have at most ${frameBytes.value} bytes`))
      return stream
    }
    this.#streams.set(stream.id, stream)
    this.#transport.send(frame)
    return stream
  }

  /** One message of the connection. */
  receive(message: Uint8Array): void {
    if (this.#isClosed) return
    this.#receivedAt = Date.now()
    const frame = decodeFrame(message)
    if (!frame) return void this.close(closeStatus.badFrames, "A frame has at least 5 bytes")
    if (frame.kind === frameKinds.ping) return void this.#send(encodeFrame(frameKinds.pong, 0, frame.payload.subarray(0, 8)))
    if (frame.kind === frameKinds.pong) return
    if (frame.kind === frameKinds.open) return void this.#receiveOpen(frame)
    const stream = this.#streams.get(frame.stream)
    if (stream) return void this.#receiveFor(stream, frame)
    // Frames may be under way to a stream that this side has just ended.
    const wasOpen = this.#isOwnId(frame.stream) ? frame.stream < this.#nextId : frame.stream <= this.#lastPeerId
    if (!wasOpen || frame.stream === 0) this.#refuse(frame.stream, "protocol_error", `Stream ${frame.stream} was never opened`)
  }

  /** The transport is no longer congested. */
  resume(): void {
    this.#pump()
  }

  /** Closes the connection with a WebSocket status; all streams end with `connection_lost`. */
  close(status: number, reason: string): void {
    if (this.#isClosed) return
    this.#transport.close(status, reason)
    this.handleTransportClose(reason)
  }

  /** The transport was closed by the other side, or is broken. */
  handleTransportClose(reason: string): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#timer)
    const error = new StreamError("connection_lost", reason === "" ? "The control connection was lost" : reason)
    for (const stream of [...this.#streams.values()]) stream.abort(error)
    this.#closed.resolve(error)
  }

  readonly #owner = {
    send: (frame: Uint8Array) => this.#send(frame),
    allocate: (bytes: number) => this.#transport.allocate?.(bytes),
    schedule: (stream: ChannelStream) => {
      this.#ready.add(stream)
      this.#pump()
    },
    forget: (stream: ChannelStream) => {
      this.#ready.delete(stream)
      this.#streams.delete(stream.id)
    },
  }

  #isOwnId(id: number): boolean {
    return id % 2 === (this.#options.side === "client" ? 1 : 0)
  }

  #send(frame: Uint8Array): void {
    if (!this.#isClosed) this.#transport.send(frame)
  }

  /** Streams send one frame each in turn, so that none waits for another's bulk. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    try {
      for (const stream of this.#ready) {
        if (this.#transport.isCongested || this.#isClosed) return
        this.#ready.delete(stream)
        if (stream.sendNext()) this.#ready.add(stream)
      }
    } finally {
      this.#isPumping = false
    }
  }

  #receiveOpen({ stream: id, payload }: Frame): void {
    const { onOpen, maxStreams = streams.value } = this.#options
    const request = decodeJson(payload)
    if (this.#isOwnId(id) || id <= this.#lastPeerId) {
      return void this.#refuse(
        id,
        "protocol_error",
        "The ID of a new stream must be the opener's kind of number, and higher than all before",
      )
    }
    this.#lastPeerId = id
    if (!request || typeof request.kind !== "string") {
      return void this.#refuse(id, "protocol_error", 'A stream is opened by a JSON object with "kind"')
    }
    if (!onOpen) return void this.#refuse(id, "invalid", "This side accepts no streams")
    const stream = new ChannelStream(id, this.#owner)
    if (this.#streams.size >= maxStreams) return void stream.fail("too_many_streams", `At most ${maxStreams} streams may be open`)
    this.#streams.set(id, stream)
    onOpen(stream, request)
  }

  #receiveFor(stream: ChannelStream, { kind, payload }: Frame): void {
    const fault = deliver(stream, kind, payload)
    if (fault === undefined) return
    stream.fail("protocol_error", fault)
    this.#countBadFrame()
  }

  #refuse(id: number, code: StreamErrorCode, msg: string): void {
    this.#send(encodeJson(frameKinds.close, id, { code, msg }))
    this.#countBadFrame()
  }

  #countBadFrame(): void {
    this.#badFrames += 1
    if (this.#badFrames > badFrames.value) this.close(closeStatus.badFrames, "Too many bad frames")
  }

  #checkPeer(): void {
    const silence = Date.now() - this.#receivedAt
    if (silence >= silentMs.value) this.close(closeStatus.silent, "The other side of the control connection is silent")
    else if (silence >= silentMs.value / 3) this.#send(encodeFrame(frameKinds.ping, 0))
  }
}

/** Returns what is wrong with a frame, if anything. */
function deliver(stream: ChannelStream, kind: number, payload: Uint8Array): string | undefined {
  if (kind === frameKinds.data) {
    if (payload.length === 0) return "A data frame begins with its part"
    return stream.receiveData(payload[0] ?? 0, payload.subarray(1)) ? undefined : "More data came than was granted"
  }
  if (kind === frameKinds.credit) {
    if (payload.length !== 4) return `A credit frame has four bytes; got ${payload.length}`
    return stream.receiveCredit(readUint32(payload, 0)) ? undefined : "More credit came than a stream can use"
  }
  if (kind === frameKinds.end) return void stream.receiveEnd()
  return deliverJson(stream, kind, payload)
}

function deliverJson(stream: ChannelStream, kind: number, payload: Uint8Array): string | undefined {
  if (payload.length > messageBytes.value) return `A message has at most ${messageBytes.value} bytes; got ${payload.length}`
  const value = decodeJson(payload)
  if (kind !== frameKinds.accept && kind !== frameKinds.message && kind !== frameKinds.close) return `No frame has the kind ${kind}`
  if (!value) return "A frame of this kind holds a JSON object"
  if (kind === frameKinds.accept) stream.receiveAccept(value)
  else if (kind === frameKinds.message) stream.onMessage(value)
  else stream.receiveClose(value)
  return undefined
}
