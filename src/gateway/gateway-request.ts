import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** One request that came, and where its answer goes. */
export interface GatewayRequest {
  request: IncomingMessage
  response: ServerResponse
  /**
   * Set when the request asks to change the protocol: the socket, taken out of HTTP's hands, and
   * what came after the head.
   */
  upgrade?: Upgrade
  /**
   * `continue`: the client waits for `100 Continue` before it sends the body. `unknown`: it waits
   * for something else.
   */
  expects?: "continue" | "unknown"
  /** Whether somebody was proved by it. */
  isAuthenticated?: boolean
}

export interface Upgrade {
  socket: Socket
  /**
   * Releases the socket from `response`, and returns the bytes that arrived after the head. The
   * caller reads and closes it from then on.
   */
  takeOver(): Buffer
}
