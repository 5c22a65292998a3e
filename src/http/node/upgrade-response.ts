import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { ServerResponse as Response } from "./http.ts"

/**
 * A response to a request to change the protocol, for as long as it may still be refused. Node
 * hands such a request over without one.
 *
 * `assignSocket` and `detachSocket` are not documented. Without the first, every refusal, the
 * program's own included, would need a writer of HTTP beside Node's. Without the second, the socket
 * retains request and response for as long as it lives, 1.9 KiB of heap. (Node 26.10. If they
 * change, tests of WebSockets in `connection-registry.test.ts` of the gateway fail.)
 */
export function createUpgradeResponse(request: IncomingMessage, socket: Socket): { response: ServerResponse; release: () => void } {
  const response = new Response(request)
  const onClose = () => response.destroy()
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.on("finish", () => socket.end(() => socket.destroy()))
  socket.on("error", destroy).on("close", onClose)
  return {
    response,
    release() {
      response.detachSocket(socket)
      socket.off("close", onClose)
    },
  }
}

function destroy(this: Socket): void {
  this.destroy()
}
