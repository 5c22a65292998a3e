import type { WebSocket } from "ws"
import { giveBackFrame, type Transport, takeFrame } from "#channel"
import { bounds } from "#contract"

const maxUnsent = bounds.control.unsentBytes.value

/** The server's end of a WebSocket, which tells when a slow client has read. */
export class SocketTransport implements Transport {
  readonly #socket: WebSocket
  readonly #onDrained: () => void
  #waits = false

  constructor(socket: WebSocket, onDrained: () => void) {
    this.#socket = socket
    this.#onDrained = onDrained
  }

  get isCongested(): boolean {
    const isCongested = this.#socket.bufferedAmount > maxUnsent
    this.#waits ||= isCongested
    return isCongested
  }

  allocate(bytes: number): Uint8Array {
    return takeFrame(bytes)
  }

  send(frame: Uint8Array): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#socket.send(frame, (error) => {
      if (!error) giveBackFrame(frame)
      this.#checkDrained()
    })
  }

  close(status: number, reason: string): void {
    this.#socket.close(status, reason)
  }

  #checkDrained(): void {
    if (!this.#waits || this.#socket.bufferedAmount > maxUnsent / 2) return
    this.#waits = false
    this.#onDrained()
  }
}
