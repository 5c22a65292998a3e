import type { WebSocket } from "ws"
import { PacedReader, sharedTurnBudget } from "#http"

export interface PacedMessageQueueOptions {
  socket: WebSocket
  userId: number
  handle: (message: Buffer) => void
  /** Whether the answers to messages wait in memory, because the client does not read them. */
  isCongested: () => boolean
}

/**
 * The messages of a client, as many in a turn of the event loop as the person's budget allows. One
 * read of the socket may hold thousands.
 */
export class PacedMessageQueue {
  readonly #options: PacedMessageQueueOptions
  readonly #reader = new PacedReader(() => this.#continue(), sharedTurnBudget)
  readonly #messages: Buffer[] = []
  #isOpen = true
  #onEnd: (() => void) | undefined

  constructor(options: PacedMessageQueueOptions) {
    this.#options = options
  }

  receive(message: Buffer): void {
    this.#messages.push(message)
    if (this.#isOpen) this.#handleAll()
  }

  /** The client has read what was sent to it. */
  resume(): void {
    this.#reader.resume()
  }

  /** Nothing more comes. `onEnd` is called when all messages are handled. */
  end(onEnd: () => void): void {
    this.#onEnd = onEnd
    this.#reader.resume()
  }

  #continue(): void {
    this.#isOpen = true
    this.#handleAll()
    if (this.#isOpen) this.#options.socket.resume()
  }

  #handleAll(): void {
    const { socket, userId, handle, isCongested } = this.#options
    let count = 0
    for (const message of this.#messages) {
      if (!this.#isOpen) break
      count += 1
      handle(message)
      if (isCongested() && !this.#onEnd) this.#reader.pause()
      this.#isOpen = this.#reader.countRead(userId, message.length)
    }
    this.#messages.splice(0, count)
    if (!this.#isOpen) socket.pause()
    else this.#onEnd?.()
  }
}
