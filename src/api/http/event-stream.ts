import { once } from "node:events"
import type { Socket } from "node:net"
import type { EventSink } from "#events"
import { detachConnection, markConnectionInUse } from "#http"
import type { RequestContext } from "./request-context.ts"

/** Bytes that are unread for this long after the end of a stream are discarded. */
const lastMs = 5_000

/**
 * The stream ends with its connection: without the frames of chunks each write is one, and costs
 * half.
 */
function headOf(requestId: string): [name: string, value: string][] {
  return [
    ["content-type", "text/event-stream; charset=utf-8"],
    ["cache-control", "no-store"],
    ["x-accel-buffering", "no"],
    ["x-content-type-options", "nosniff"],
    ["x-request-id", requestId],
    ["date", new Date().toUTCString()],
    ["connection", "close"],
  ]
}

/** Answers `HEAD` as the stream would begin. */
export function sendStreamHead({ response, requestId }: RequestContext): void {
  response.writeHead(200, headOf(requestId).flat()).end()
}

/**
 * Sends the head of a stream of events, at once, and takes the connection from the HTTP server: a
 * stream lasts for days, and with request, response and parser each would keep several times the
 * memory.
 */
export function takeStream(requestContext: RequestContext): EventSink {
  const { socket } = requestContext.request
  if (socket.writable) {
    const lines = headOf(requestContext.requestId).map(([name, value]) => `${name}: ${value}\r\n`)
    requestContext.isStream = true
    socket.write(`HTTP/1.1 200 OK\r\n${lines.join("")}\r\n`, "latin1")
    detach(requestContext)
  }
  return new SocketSink(socket)
}

/**
 * For the HTTP server the answer has been sent and the connection is over: it lets go of all that
 * it keeps for them.
 */
function detach({ request: { socket }, response }: RequestContext): void {
  const onDone = detachConnection(socket)
  // Whoever wants the data gets them in place of the parser.
  socket.on("data", destroy)
  response.emit("finish")
  socket.emit("close", false)
  socket.removeAllListeners()
  socket.setTimeout(0)
  socket.on("data", destroy)
  socket.on("end", destroy)
  socket.on("error", nothing)
  socket.on("close", onDone)
  markConnectionInUse(socket)
}

function nothing(): void {}

/** Clients must not send anything on a stream. */
function destroy(this: Socket): void {
  this.destroy()
}

/** Writes a stream's bytes to a connection. */
class SocketSink implements EventSink {
  readonly #socket: Socket

  constructor(socket: Socket) {
    this.#socket = socket
  }

  get pendingBytes(): number {
    return this.#socket.writableLength
  }

  write(bytes: Uint8Array | string): void {
    if (this.#socket.writable) this.#socket.write(bytes)
  }

  async drained(latest: AbortSignal): Promise<void> {
    const socket = this.#socket
    if (!socket.writableNeedDrain || socket.destroyed) return
    const over = new AbortController()
    const signal = AbortSignal.any([latest, over.signal])
    await Promise.race([once(socket, "drain", { signal }), once(socket, "close", { signal })]).catch(() => {})
    over.abort()
  }

  end(text: string): void {
    const socket = this.#socket
    const cut = setTimeout(() => socket.destroy(), lastMs)
    cut.unref()
    socket.once("close", () => clearTimeout(cut))
    socket.end(text, () => socket.destroy())
  }

  onClose(listener: () => void): void {
    if (this.#socket.destroyed) listener()
    else this.#socket.once("close", listener)
  }
}
