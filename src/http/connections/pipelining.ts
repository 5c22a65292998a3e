import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** The property of a socket that holds its queue. */
const queue = Symbol("request queue")
type Connection = Socket & { [queue]?: RequestQueue | undefined }

export interface PipeliningOptions {
  handler: RequestListener
  /**
   * Requests that may wait behind another one on their connection; a connection that sends more is
   * closed.
   */
  maxWaiting: number
  /** Called with the number of those that wait on the connection; false: it must be closed. */
  mayWait?: (connection: Socket, count: number) => boolean
  /** Called once for each queued request: it was answered, or its connection ended. */
  onDone?: () => void
}

/**
 * Handles the requests of a connection one after the other, each once the response before it is
 * sent. Otherwise a client could send many and read nothing, and all responses would be buffered.
 */
export function queueRequest(request: IncomingMessage, response: ServerResponse, options: PipeliningOptions): void {
  const connection: Connection = request.socket
  queueOf(connection).add(request, response, options)
}

/**
 * Calls `refuse` for bytes that are no request, once all complete requests before them are
 * answered. In the body of a request, the refusal is that request's response; if the response has
 * begun already, the connection closes. Only the first call counts.
 */
export function queueRefusal(connection: Connection, refuse: () => void): void {
  queueOf(connection).refuse(refuse)
}

function queueOf(connection: Connection): RequestQueue {
  connection[queue] ??= new RequestQueue(connection)
  return connection[queue]
}

/** Whether a request of the connection is being handled or waits. */
export function hasPendingRequest(connection: Connection): boolean {
  return connection[queue]?.isBusy ?? false
}

/**
 * Reserves the connection for the request that is being handled, even after its response has
 * ended. If other requests wait, the connection closes. The caller calls the returned function once
 * the connection has closed.
 */
export function detachConnection(connection: Connection): () => void {
  const onDone = connection[queue]?.detach() ?? (() => {})
  connection[queue] = undefined
  return onDone
}

class RequestQueue {
  readonly #socket: Socket
  readonly #waiting: [IncomingMessage, ServerResponse, PipeliningOptions][] = []
  /** Of the request that is being handled. */
  #onDone: PipeliningOptions["onDone"]
  /**
   * The request that is being handled, or the one before while its body is incomplete: an idle
   * connection must not keep the body of its last request.
   */
  #last: { request: IncomingMessage; response: ServerResponse } | undefined
  #refuse: (() => void) | undefined
  #isBusy = false
  #isDetached = false

  constructor(socket: Socket) {
    this.#socket = socket
    // A response that has no socket yet emits no `close`.
    socket.once("close", () => {
      for (const [, , { onDone }] of this.#waiting.splice(0)) onDone?.()
    })
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  detach(): () => void {
    this.#isDetached = true
    if (this.#waiting.length > 0) this.#socket.destroy()
    return this.#onDone ?? (() => {})
  }

  add(request: IncomingMessage, response: ServerResponse, options: PipeliningOptions): void {
    if (!this.#isBusy) return void this.#begin(request, response, options)
    const count = this.#waiting.push([request, response, options])
    if (count > options.maxWaiting || options.mayWait?.(this.#socket, count) === false) this.#socket.destroy()
  }

  refuse(refuse: () => void): void {
    if (this.#refuse) return
    this.#refuse = refuse
    if (this.#waiting.at(-1)?.[0].complete === false) this.#waiting.pop()?.[2].onDone?.()
    const isItsBody = this.#last?.request.complete === false
    if (isItsBody && this.#last?.response.headersSent) this.#socket.destroy()
    else if (isItsBody || !this.#isBusy) refuse()
    else this.#endWithClient()
  }

  /**
   * Node does not close the connection of a client that left in the middle of a request, nor one
   * that it has released.
   */
  #endWithClient(): void {
    const socket = this.#socket
    if (socket.readableEnded) socket.destroy()
    else socket.once("end", () => socket.destroy())
  }

  #begin(request: IncomingMessage, response: ServerResponse, { handler, onDone }: PipeliningOptions): void {
    this.#isBusy = true
    this.#onDone = onDone
    this.#last = { request, response }
    response.on("close", this.#next)
    handler(request, response)
  }

  /** One for all responses of the connection: each closes once. */
  readonly #next = (): void => {
    if (this.#isDetached) return
    this.#isBusy = false
    if (this.#last?.request.complete) this.#last = undefined
    this.#onDone?.()
    const next = this.#socket.writable ? this.#waiting.shift() : undefined
    next?.[2].mayWait?.(this.#socket, this.#waiting.length)
    if (next) this.#begin(...next)
    else if (this.#socket.writable) this.#refuse?.()
  }
}
