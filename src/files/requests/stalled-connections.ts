import type { IncomingMessage, Server, ServerResponse } from "node:http"

/**
 * Closes connections without progress. While the server itself works for a request (a long copy, a
 * slow disk), an idle connection is no stall. The returned function marks a request as such work
 * until its result is called.
 */
export function closeStalledConnections(
  server: Server,
  stalledMs: number,
): (request: IncomingMessage, response: ServerResponse) => () => void {
  const working = new WeakMap<object, IncomingMessage>()
  server.setTimeout(stalledMs, (socket) => {
    const request = working.get(socket)
    const waitsForClient = !request || socket.writableLength > 0 || !(request.complete || request.isPaused())
    if (waitsForClient) socket.destroy()
    else socket.setTimeout(stalledMs)
  })
  return (request, response) => {
    const { socket } = response
    if (socket) working.set(socket, request)
    return () => {
      if (socket && working.get(socket) === request) working.delete(socket)
    }
  }
}
