import type { Duplex } from "node:stream"
import type { WebSocket } from "ws"
import { allocateFrame, releaseFrame, type Transport } from "#channel"
import { bounds } from "#contract"

const maxUnsent = bounds.control.unsentBytes.value
/** A frame that waits takes this much memory beside its own bytes. */
const unsentFrameBytes = 512

export interface SocketTransportOptions {
  webSocket: WebSocket
  /** The connection below it. */
  socket: Duplex
  /** Called when a slow client has read. */
  onDrained: () => void
}

/** The server's end of a WebSocket, which tells when a slow client has read. */
export class SocketTransport implements Transport {
  readonly #socket: WebSocket
  readonly #connection: Duplex
  readonly #onDrained: () => void
  #waits = false
  #isCollecting = false
  #unsentFrames = 0

  constructor({ webSocket, socket, onDrained }: SocketTransportOptions) {
    this.#socket = webSocket
    this.#connection = socket
    this.#onDrained = onDrained
  }

  get isCongested(): boolean {
    const isCongested = this.#unsentBytes > maxUnsent
    this.#waits ||= isCongested
    return isCongested
  }

  get #unsentBytes(): number {
    return this.#socket.bufferedAmount + this.#unsentFrames * unsentFrameBytes
  }

  allocate(bytes: number): Uint8Array {
    return allocateFrame(bytes)
  }

  send(frame: Uint8Array): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#collect()
    this.#unsentFrames += 1
    this.#socket.send(frame, (error) => {
      this.#unsentFrames -= 1
      if (!error) releaseFrame(frame)
      this.#checkDrained()
    })
  }

  close(status: number, reason: string): void {
    this.#socket.close(status, reason)
  }

  /**
   * The frames of one turn of the event loop are sent together: a call of the system and packets
   * for each cost more than moving its bytes.
   */
  #collect(): void {
    if (this.#isCollecting) return
    this.#isCollecting = true
    this.#connection.cork()
    setImmediate(() => {
      this.#isCollecting = false
      this.#connection.uncork()
    })
  }

  #checkDrained(): void {
    if (!this.#waits || this.#unsentBytes > maxUnsent / 2) return
    this.#waits = false
    this.#onDrained()
  }
}
