import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

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
  socket: Duplex
  /** Hands over what has come since the head; whoever calls it reads on. */
  takeEarly(): Buffer
}
