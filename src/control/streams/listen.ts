import type { AddressInfo, Server, Socket } from "node:net"
import { setTimeout as pause } from "node:timers/promises"
import { type ChannelStream, type JsonObject, StreamError } from "#channel"
import { bounds } from "#contract"
import { EngineError } from "#engine"
import { waitForTurn } from "#http"
import type { ConnectionContext } from "../context.ts"
import { parsePort } from "../request-fields.ts"
import { relayToProgram } from "./forward.ts"
import { auditProgram } from "./programs.ts"

/**
 * Shows a port of the client at the run's loopback address, for as long as its stream lasts. Each
 * connection of the run's programs is a stream that this side opens.
 */
export async function serveListen(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const port = parsePort(request.port, 0)
  using _ = context.usage.addListener()
  await auditProgram(context, "listen")
  const server = await open(context, port)
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.on("error", () => socket.destroy()).once("close", () => sockets.delete(socket))
    void serveConnection(context, socket, stream.id)
  })
  try {
    stream.accept({ port: (server.address() as AddressInfo).port })
    await stream.done
  } finally {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
}

async function open({ engine, run, signal, usage }: ConnectionContext, port: number): Promise<Server> {
  const listening = Promise.withResolvers<Server | undefined>()
  void usage.listenerStarts.run(async () => {
    await engine.listen(run.key, port, signal).then(listening.resolve, listening.reject)
    await pause(bounds.control.listenerPauseMs.value)
  })
  const server = await listening.promise.catch((error: Error) => {
    throw error instanceof EngineError ? new StreamError("unavailable", error.message) : error
  })
  if (server) return server
  throw new StreamError("unavailable", "The run's container does not run")
}

/**
 * Programs may connect as often as they like. Each connection counts among their person's streams
 * until the client has answered it, so few frames wait for a client that does not read.
 */
async function serveConnection({ usage, open, caller }: ConnectionContext, socket: Socket, listener: number): Promise<void> {
  try {
    using _ = usage.addStream()
    using window = usage.addWideWindow()
    const stream = open("connection", { listener })
    await stream.accepted
    const onClose = () => stream.fail("connection_lost", "The program closed the connection")
    if (socket.destroyed) onClose()
    else socket.once("close", onClose)
    if (window) stream.widenWindow(bounds.control.wideWindowBytes.value)
    await Promise.all([relayToProgram(stream, socket, caller.userId), relayToClient(socket, stream, caller.userId)])
    stream.finish()
  } catch {
    // The client does not connect, or one side has gone: the program notices by its connection.
  } finally {
    socket.destroy()
  }
}

async function relayToClient(socket: Socket, stream: ChannelStream, userId: number): Promise<void> {
  for await (const data of socket.iterator({ destroyOnReturn: false })) {
    await stream.write(data as Buffer)
    await waitForTurn(userId, data as Buffer, stream)
  }
  stream.end()
}
