import type { ChannelStream, JsonObject } from "./channel-stream.ts"
import type { Multiplexer } from "./multiplexer.ts"

/** Accepts the stream of a connection, or fails it. */
type OnConnection = (stream: ChannelStream) => void

/** By the IDs of the streams that listen. */
const listeners = new WeakMap<Multiplexer, Map<number, OnConnection>>()

/**
 * Listens at a port of the run's own loopback address, until the stream is over; 0 is a free one.
 * `accepted` resolves with the port. Each connection of a program is a stream: `accept` it when it
 * is joined with something, then `read`, `write` and `end` it.
 */
export function openListen(connection: Multiplexer, port: number, onConnection: OnConnection): ChannelStream {
  const own = listeners.get(connection) ?? new Map<number, OnConnection>()
  listeners.set(connection, own)
  const stream = connection.open("listen", { port })
  own.set(stream.id, onConnection)
  const forget = () => void own.delete(stream.id)
  stream.done.then(forget, forget)
  return stream
}

/** A stream that the server opened. */
export function receiveConnection(connection: Multiplexer, stream: ChannelStream, { kind, listener }: JsonObject): void {
  const onConnection = kind === "connection" ? listeners.get(connection)?.get(listener as number) : undefined
  if (onConnection) onConnection(stream)
  else stream.fail("invalid", "This client listens at no such port")
}
