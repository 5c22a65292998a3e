import type { Server } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { queueRefusal } from "./pipelining.ts"

/** What Node's parser did not understand. */
export interface ParseError extends Error {
  code?: string
  /** What came at once, with requests that were understood before it. */
  rawPacket?: Buffer
  bytesParsed?: number
}

/**
 * Answers, in its turn, what is no request for this server, with the text of `answerTo`, and closes
 * the connection: what the parser refuses, and `CONNECT`.
 */
export function handleParseErrors(server: Server, answerTo: (what: ParseError | "CONNECT") => string): void {
  const refuse = (socket: Duplex, what: ParseError | "CONNECT") => queueRefusal(socket as Socket, () => end(socket, answerTo(what)))
  server.on("clientError", (error: ParseError, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy()
    else refuse(socket, error)
  })
  server.on("connect", (_request, socket) => {
    // Node has let go of it. Only who reads learns that the client has gone.
    socket.on("error", () => socket.destroy()).resume()
    refuse(socket, "CONNECT")
  })
}

function end(socket: Duplex, text: string): void {
  if (!socket.writable) return void socket.destroy()
  socket.on("error", () => socket.destroy())
  socket.end(text, () => socket.destroy())
}

/** Whether it is well-formed, with a method that Node does not know. */
export function isUnknownMethod(error: ParseError): boolean {
  return error.code === "HPE_INVALID_METHOD" && otherMethod.test(rejected(error))
}

/** The method is a word, though none that Node's parser knows: what is there takes others. */
const otherMethod = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP\/1\.[01]\r?\n/

/** From the beginning of the line that was not understood. */
function rejected({ rawPacket, bytesParsed = 0 }: ParseError): string {
  const text = rawPacket?.toString("latin1") ?? ""
  return text.slice(bytesParsed === 0 ? 0 : text.lastIndexOf("\n", bytesParsed - 1) + 1)
}
