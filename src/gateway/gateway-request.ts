import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** A request with its response. */
export interface GatewayRequest {
  request: IncomingMessage
  response: ServerResponse
  /**
   * Set when the request asks to change the protocol: the socket, which Node's HTTP has released,
   * and the bytes after the head.
   */
  upgrade?: Upgrade
  /**
   * `continue`: the client waits for `100 Continue` before it sends the body. `unknown`: it waits
   * for something else.
   */
  expects?: "continue" | "unknown"
  /** Whether its credentials were accepted. */
  isAuthenticated?: boolean
}

export interface Upgrade {
  socket: Socket
  /** Calls the function once so many bytes have arrived that no more are read. */
  onFull(listener: () => void): void
  /**
   * Releases the socket from `response`, and returns the bytes that arrived after the head. The
   * caller reads and closes it from then on.
   */
  takeOver(): Buffer
}
