import type { WebSocket } from "ws"
import { PacedReader, sharedTurnBudget } from "#http"

export interface PacedMessageQueueOptions {
  socket: WebSocket
  userId: number
  handle: (message: Uint8Array) => void
  /** Whether the answers to messages wait in memory, because the client does not read them. */
  isCongested: () => boolean
}

/**
 * The messages of a client, as many in a turn of the event loop as the person's budget allows. One
 * read of the socket may hold thousands.
 */
export class PacedMessageQueue {
  readonly #options: PacedMessageQueueOptions
  readonly #reader = new PacedReader(
    () => this.#continue(),
    sharedTurnBudget,
    () => this.#stop(),
  )
  readonly #messages: Uint8Array[] = []
  /** Bytes of the messages since the last read of the socket. */
  #received = 0
  #isOpen = true
  #onEnd: (() => void) | undefined

  constructor(options: PacedMessageQueueOptions) {
    this.#options = options
    this.#reader.join(options.userId)
  }

  receive(message: Uint8Array): void {
    this.#received += message.length
    this.#messages.push(message)
    if (this.#isOpen) this.#handleAll()
  }

  /**
   * Counts a read of the socket, after its messages, unless it was mostly messages. Pongs and parts
   * of messages take as long.
   */
  countRead(bytes: number): void {
    const isCounted = bytes <= 2 * this.#received
    this.#received = 0
    if (!isCounted && !this.#reader.countRead(this.#options.userId, bytes)) this.#stop()
  }

  /** The client has read what was sent to it. */
  resume(): void {
    this.#reader.resume()
  }

  /** Nothing more comes. `onEnd` is called when all messages are handled. */
  end(onEnd: () => void): void {
    this.#onEnd = onEnd
    this.#reader.leave()
    this.#reader.resume()
  }

  #stop(): void {
    this.#isOpen = false
    this.#options.socket.pause()
  }

  #continue(): void {
    this.#isOpen = true
    this.#handleAll()
    if (this.#isOpen) this.#options.socket.resume()
  }

  #handleAll(): void {
    const { userId, handle, isCongested } = this.#options
    let count = 0
    for (const message of this.#messages) {
      if (!this.#isOpen) break
      count += 1
      handle(message)
      if (isCongested() && !this.#onEnd) this.#reader.pause()
      this.#isOpen = this.#reader.countRead(userId, message.length)
    }
    this.#messages.splice(0, count)
    if (!this.#isOpen) this.#stop()
    else this.#onEnd?.()
  }
}
