import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { markConnectionInUse } from "../connections/connection-limiter.ts"
import { detachConnection } from "../connections/pipelining.ts"
import { detachSocket } from "../node/detach-socket.ts"

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

/** Answers `HEAD` with the head of a stream. */
export function sendEventStreamHead(response: ServerResponse, requestId: string): void {
  response.writeHead(200, headOf(requestId).flat()).end()
}

/**
 * Sends the head of a stream of server-sent events at once, and takes the connection from the HTTP
 * server: a stream lasts for days, and request, response and parser would need several times its
 * memory.
 */
export function openEventStream({ socket }: IncomingMessage, response: ServerResponse, requestId: string): EventStreamSink {
  if (socket.writable) {
    const lines = headOf(requestId).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`HTTP/1.1 200 OK\r\n${lines.join("")}\r\n`, "latin1")
    detach(socket, response)
  }
  return new EventStreamSink(socket)
}

function detach(socket: Socket, response: ServerResponse): void {
  const onDone = detachConnection(socket)
  detachSocket(socket, response, destroy)
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
export class EventStreamSink {
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
