import type { Socket } from "node:net"

/**
 * Replaces what Node 26 calls once the last response of a connection is written. Node's own
 * `destroySoon` closes a socket with unread bytes, which resets the connection, and the client
 * loses the response. If Node stops calling it, `limits.test.ts` of files fails.
 */
export function replaceDestroySoon(socket: Socket, end: () => void): void {
  socket.destroySoon = end
}
