import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** Where a connection keeps its turns. */
const turns = Symbol("turns")
type Connection = Socket & { [turns]?: Turns | undefined }

export interface PipeliningOptions {
  handler: RequestListener
  /**
   * Requests that may wait behind another one on their connection; a connection that sends more is
   * closed.
   */
  maxWaiting: number
  /** Called once for every request that was taken: it was answered, or its connection ended. */
  over?: () => void
}

/**
 * Answers the requests of a connection one after the other, each when the answer before it is sent.
 * A client may send many without reading any: their answers would all be made and kept for it.
 */
export function queueRequest(request: IncomingMessage, response: ServerResponse, options: PipeliningOptions): void {
  const connection: Connection = request.socket
  turnsOf(connection).take(request, response, options)
}

/**
 * Has `refuse` answer, in its turn, what came on the connection and is no request: when all that
 * came whole before it is answered. Where it is the body of a request, it is that one's answer; if
 * that has begun already, the connection ends. Only the first counts.
 */
export function queueRefusal(connection: Connection, refuse: () => void): void {
  turnsOf(connection).refuse(refuse)
}

function turnsOf(connection: Connection): Turns {
  connection[turns] ??= new Turns(connection)
  return connection[turns]
}

/** Whether a request of the connection is under way, or waits. */
export function hasPendingRequest(connection: Connection): boolean {
  return connection[turns]?.isBusy ?? false
}

/**
 * Gives the connection to the request under way, whatever becomes of its response; where others
 * wait behind it, it ends. What is returned is to be called once, when the connection ends.
 */
export function detachConnection(connection: Connection): () => void {
  const over = connection[turns]?.keep() ?? (() => {})
  connection[turns] = undefined
  return over
}

class Turns {
  readonly #socket: Socket
  readonly #waiting: [IncomingMessage, ServerResponse, PipeliningOptions][] = []
  /** Of the request under way. */
  #over: PipeliningOptions["over"]
  /** The one under way, or the one before. */
  #last: { request: IncomingMessage; response: ServerResponse } | undefined
  #refuse: (() => void) | undefined
  #isBusy = false
  #isKept = false

  constructor(socket: Socket) {
    this.#socket = socket
    // Answers that have no connection yet do not hear of its end.
    socket.once("close", () => {
      for (const [, , { over }] of this.#waiting.splice(0)) over?.()
    })
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  keep(): () => void {
    this.#isKept = true
    if (this.#waiting.length > 0) this.#socket.destroy()
    return this.#over ?? (() => {})
  }

  take(request: IncomingMessage, response: ServerResponse, options: PipeliningOptions): void {
    if (this.#isBusy) this.#waiting.push([request, response, options])
    else this.#begin(request, response, options)
    if (this.#waiting.length > options.maxWaiting) this.#socket.destroy()
  }

  refuse(refuse: () => void): void {
    if (this.#refuse) return
    this.#refuse = refuse
    if (this.#waiting.at(-1)?.[0].complete === false) this.#waiting.pop()?.[2].over?.()
    const isItsBody = this.#last?.request.complete === false
    if (isItsBody && this.#last?.response.headersSent) this.#socket.destroy()
    else if (isItsBody || !this.#isBusy) refuse()
    else this.#endWithClient()
  }

  /**
   * Node ends no connection of a client that has ended in the middle of a request, and knows none
   * that it has let go of.
   */
  #endWithClient(): void {
    const socket = this.#socket
    if (socket.readableEnded) socket.destroy()
    else socket.once("end", () => socket.destroy())
  }

  #begin(request: IncomingMessage, response: ServerResponse, { handler, over }: PipeliningOptions): void {
    this.#isBusy = true
    this.#over = over
    this.#last = { request, response }
    response.on("close", this.#next)
    handler(request, response)
  }

  /** One for all responses of the connection: each closes once. */
  readonly #next = (): void => {
    if (this.#isKept) return
    this.#isBusy = false
    this.#over?.()
    const next = this.#socket.writable ? this.#waiting.shift() : undefined
    if (next) this.#begin(...next)
    else if (this.#socket.writable) this.#refuse?.()
  }
}
