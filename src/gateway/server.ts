import type { IncomingMessage, Server } from "node:http"
import type { Socket } from "node:net"
import { bounds } from "#contract"
import { type ConnectionLimiter, createHttpServer, type HttpUpgrade, hasPendingRequest, type PendingRequests } from "#http"
import { ChunkBuffer } from "#kit"
import type { GatewayRequest, Upgrade } from "./gateway-request.ts"
import { gatewayResponseHeaders } from "./pages.ts"

/**
 * How long a client may continue to send after its response, so that it reads the response instead
 * of a reset.
 */
const lingerMs = 5_000

const maxEarlyBytes = bounds.gateway.earlyBytes.value

export interface GatewayServerOptions {
  handler: (request: GatewayRequest) => void
  connections: ConnectionLimiter | undefined
  pending: PendingRequests
}

/** One HTTP server of the gateway; every request goes to `handler`. Bodies have no total time. */
export function createGatewayServer({ handler, connections, pending }: GatewayServerOptions): Server {
  return createHttpServer({
    upgrade: (upgrade) => handler(toUpgradeRequest(upgrade)),
    handler: (request, response, expects) => {
      const gatewayRequest = { request, response, ...(expects === undefined ? {} : { expects }) }
      linger(gatewayRequest)
      handler(gatewayRequest)
    },
    parseErrors: { maxHeadBytes: bounds.http.headBytes.value, longChunkExtensions: "invalid", headers: gatewayResponseHeaders },
    requestTimeoutMs: 0,
    maxHeadBytes: bounds.http.headBytes.value,
    connections,
    pending,
    node: { keepAlive: true, keepAliveInitialDelay: 60_000, shouldUpgradeCallback: mayUpgrade },
  })
}

/**
 * An offer of HTTP/2 is ignored, and the request is served in HTTP/1.1. So is an upgrade that
 * arrives before an earlier request is answered: the connection cannot serve both.
 */
function mayUpgrade({ method, headers, socket }: IncomingMessage): boolean {
  return method === "GET" && !hasPendingRequest(socket) && !/(?:^|[\s,])h2c?(?:$|[\s,])/i.test(headers.upgrade ?? "")
}

function linger({ request, response }: GatewayRequest): void {
  if (request.complete) return
  response.on("finish", () => {
    if (request.complete) return
    const end = () => request.complete || request.socket.destroy()
    setTimeout(end, lingerMs).unref()
  })
}

/** A refusal needs a response, so an upgrade has one until the protocol changes. */
function toUpgradeRequest({ request, response, release, socket, head }: HttpUpgrade): GatewayRequest {
  const { stop, onFull } = readEarly(socket, head)
  const takeOver = () => {
    release()
    return stop()
  }
  return { request, response, upgrade: { socket, takeOver, onFull } }
}

/**
 * Reads on while the answer is awaited: only a socket that is read notices that its client left.
 * `stop` ends that, and returns the bytes.
 */
function readEarly(socket: Socket, head: Buffer): { stop: () => Buffer; onFull: Upgrade["onFull"] } {
  const early = new ChunkBuffer()
  let whenFull = () => {}
  early.add(head)
  const onData = (chunk: Buffer) => {
    early.add(chunk)
    if (early.length <= maxEarlyBytes) return
    socket.pause()
    whenFull()
  }
  const onEnd = () => socket.destroy()
  socket.on("data", onData).on("end", onEnd)
  const stop = () => {
    socket.off("data", onData).off("end", onEnd)
    return Buffer.concat(early.take())
  }
  const onFull = (listener: () => void) => {
    whenFull = listener
    if (early.length > maxEarlyBytes) listener()
  }
  return { stop, onFull }
}
