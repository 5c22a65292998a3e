import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { type ChannelStream, type JsonObject, StreamError } from "#channel"
import { bounds } from "#contract"
import { waitForTurn } from "#http"
import { writeThrough } from "#kit"
import type { ConnectionContext } from "../context.ts"
import { parsePort } from "../request-fields.ts"
import { pacedInput } from "./paced-input.ts"

/** Forwards a TCP connection to a port of the run. */
export async function serveForward(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const socket = await connectToRun(context, { port: parsePort(request.port), stream })
  using window = context.usage.addWideWindow()
  stream.accept()
  if (window) stream.widenWindow(bounds.control.wideWindowBytes.value)
  const cut = () => socket.destroy()
  stream.done.catch(cut)
  try {
    await Promise.all([relayToProgram(stream, socket, context.caller.userId), relayToClient(socket, stream)])
    stream.finish()
  } catch (error) {
    if (error instanceof StreamError) throw error
    throw new StreamError("connection_lost", "The program closed the connection")
  } finally {
    cut()
  }
}

/** Connections read into this memory. Bytes that the client cannot receive at once are copied. */
const received = Buffer.allocUnsafeSlow(65_536)

/** A connection that sends what it receives to the stream, as soon as it is resumed. */
async function connectToRun(context: ConnectionContext, { port, stream }: { port: number; stream: ChannelStream }): Promise<Socket> {
  const { engine, run, usage, signal } = context
  const address = await usage.engineCalls.run(() => engine.address(run.key, port, signal))
  if (!address) throw new StreamError("unavailable", "The run's container does not run")
  const send = async (data: Uint8Array) => {
    await stream.writeCopy(data)
    await waitForTurn(context.caller.userId, data, stream)
    socket.resume()
  }
  const onRead = (length: number) => {
    send(received.subarray(0, length)).catch(() => socket.destroy())
    return false
  }
  const onread = { buffer: received, callback: onRead }
  const socket = connect({ host: address.host, port: address.port, allowHalfOpen: true, noDelay: true, onread })
  socket.pause()
  const timer = setTimeout(() => socket.destroy(new Error("timed out")), bounds.gateway.connectMs.value)
  try {
    await once(socket, "connect", { signal })
  } catch {
    socket.destroy()
    throw await refusal(context, port)
  } finally {
    clearTimeout(timer)
  }
  socket.on("error", () => socket.destroy())
  if (address.isCurrent?.() !== false) return socket
  socket.destroy()
  throw new StreamError("unavailable", "The run has just ended")
}

async function refusal({ engine, run, usage }: ConnectionContext, port: number): Promise<StreamError> {
  if (!usage.consumeExplanation()) return new StreamError("connection_refused", `The run does not accept connections at port ${port}`)
  const ports = await engine.listeningPorts(run.key).catch(() => undefined)
  const isLocal = ports?.some((each) => each.port === port && each.isLocal)
  const why = isLocal ? "a program listens there for its own container only: let it listen at 0.0.0.0" : "nothing listens there"
  return new StreamError("connection_refused", `The run does not accept connections at port ${port}: ${why}`)
}

/** Passes on what the client sends, and its end. */
export async function relayToProgram(stream: ChannelStream, socket: Socket, userId: number): Promise<void> {
  for await (const data of pacedInput(stream, userId)) {
    if (!socket.writable) return
    await writeThrough(socket, data)
  }
  socket.end()
}

async function relayToClient(socket: Socket, stream: ChannelStream): Promise<void> {
  const ended = Promise.withResolvers<void>()
  socket.once("end", ended.resolve)
  socket.once("close", () => ended.reject(new Error("The connection was closed")))
  socket.resume()
  await ended.promise
  stream.end()
}
