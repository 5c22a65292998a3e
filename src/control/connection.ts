import type { Duplex } from "node:stream"
import type { WebSocket } from "ws"
import { type ChannelStream, type JsonObject, Multiplexer, StreamError } from "#channel"
import type { ConnectionContext, StreamHandler } from "./context.ts"
import { PacedMessageQueue } from "./paced-message-queue.ts"
import { SocketTransport } from "./socket-transport.ts"
import { serveCopy } from "./streams/copy.ts"
import { serveForward } from "./streams/forward.ts"
import { serveListen } from "./streams/listen.ts"
import { serveLogs, serveStats } from "./streams/logs-and-stats.ts"
import { serveExec } from "./streams/programs.ts"
import { serveShell } from "./streams/shell.ts"

const handlers: Readonly<Record<string, StreamHandler>> = {
  exec: serveExec,
  shell: serveShell,
  forward: serveForward,
  listen: serveListen,
  copy: serveCopy,
  logs: serveLogs,
  stats: serveStats,
}

/** Serves the streams of one WebSocket, which is on a connection. */
export function serveConnection(options: Omit<ConnectionContext, "open">, webSocket: WebSocket, socket: Duplex): Multiplexer {
  const { caller } = options
  const context = { ...options, open: (kind: string, request: JsonObject) => multiplexer.open(kind, request) }
  const onDrained = () => {
    multiplexer.resume()
    inbox.resume()
  }
  const transport = new SocketTransport({ webSocket, socket, onDrained })
  const multiplexer = new Multiplexer({
    transport,
    side: "server",
    onOpen: (stream, request) => void serveStream(context, stream, request),
  })
  const inbox = new PacedMessageQueue({
    socket: webSocket,
    userId: caller.userId,
    handle: (message) => multiplexer.receive(message),
    isCongested: () => transport.isCongested,
  })
  webSocket.on("message", (data: Buffer, isBinary: boolean) => inbox.receive(isBinary ? ownMemory(data) : new Uint8Array()))
  socket.on("data", (chunk: Buffer) => inbox.countRead(chunk.length))
  webSocket.on("error", () => webSocket.terminate())
  webSocket.on("close", () => inbox.end(() => multiplexer.handleTransportClose("")))
  return multiplexer
}

/**
 * A message may be a part of all that was read with it. As long as it waits for a program, it must
 * hold little more memory than its own bytes, for which it used credit.
 */
function ownMemory(message: Uint8Array): Uint8Array {
  return 2 * message.length < message.buffer.byteLength ? new Uint8Array(message) : message
}

async function serveStream(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const { usage, logger, run } = context
  try {
    const handler = handlerOf(request.kind)
    using _ = usage.addStream()
    await handler(context, stream, request)
  } catch (error) {
    if (error instanceof StreamError) return void stream.fail(error.code as "internal", error.message)
    if (!stream.isOver) logger.error({ err: error, run: run.id, kind: request.kind }, "a control stream failed")
    stream.fail("internal", "The server failed to serve this stream")
  }
}

function handlerOf(kind: unknown): StreamHandler {
  const handler = typeof kind === "string" && Object.hasOwn(handlers, kind) ? handlers[kind] : undefined
  if (handler) return handler
  throw new StreamError("invalid", `kind must be one of ${Object.keys(handlers).join(", ")}; got ${JSON.stringify(kind).slice(0, 100)}`)
}
