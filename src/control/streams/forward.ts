import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { type ChannelStream, type JsonObject, StreamError } from "#channel"
import { bounds } from "#contract"
import type { ConnectionContext } from "../context.ts"
import { readPort } from "../request-fields.ts"
import { waitForTurn } from "./wait-for-turn.ts"

/** Forwards a TCP connection to a port of the run. */
export async function serveForward(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const socket = await connectToRun(context, readPort(request.port))
  using window = context.usage.addWideWindow()
  stream.accept()
  if (window) stream.widen(bounds.control.wideWindowBytes.value)
  const cut = () => socket.destroy()
  stream.done.catch(cut)
  try {
    await Promise.all([toProgram(stream, socket), toClient(context, socket, stream)])
    stream.finish()
  } catch (error) {
    if (error instanceof StreamError) throw error
    throw new StreamError("connection_lost", "The program closed the connection")
  } finally {
    cut()
  }
}

async function connectToRun(context: ConnectionContext, port: number): Promise<Socket> {
  const { engine, run, usage, signal } = context
  const address = await usage.engineCalls.run(() => engine.address(run.key, port, signal))
  if (!address) throw new StreamError("unavailable", "The run's container does not run")
  const socket = connect({ host: address.host, port: address.port, allowHalfOpen: true, noDelay: true })
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

async function toProgram(stream: ChannelStream, socket: Socket): Promise<void> {
  for await (const { data } of stream) {
    if (!socket.writable) return
    if (!socket.write(data)) await untilDrained(socket)
  }
  socket.end()
}

async function untilDrained(socket: Socket): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  await Promise.race([once(socket, "drain", { signal }), once(socket, "close", { signal })]).finally(() => over.abort())
}

async function toClient({ caller }: ConnectionContext, socket: Socket, stream: ChannelStream): Promise<void> {
  for await (const data of socket as AsyncIterable<Buffer>) {
    await stream.write(data)
    await waitForTurn(caller.userId, data, stream)
  }
  stream.end()
}
