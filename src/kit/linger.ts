import type { IncomingMessage } from "node:http"
import { trickles } from "./request.ts"

/** So much of a body that nobody wants is still taken, and for so long. */
const lingerBytes = 64 * 2 ** 20
const lingerMs = 10_000
/** So much of it is not worth another connection. */
const short = 65_536

/**
 * Throws away what still comes of a body that is not wanted: a socket that is closed with unread bytes resets its connection, and the answer is lost. To be called before the
 * answer's head is written; where it answers true the head must say `Connection: close`.
 */
export function linger(request: IncomingMessage): boolean {
  if (request.complete || !hasBody(request)) return false
  const ends = lengthOf(request) > short
  if (ends) endAfterwards(request)
  request.resume()
  return ends
}

/** Whether a body comes with the request, be it empty in the end. */
export function hasBody(request: IncomingMessage): boolean {
  return lengthOf(request) > 0
}

function lengthOf({ headers }: IncomingMessage): number {
  return headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : Number.POSITIVE_INFINITY
}

function endAfterwards(request: IncomingMessage): void {
  const { socket } = request
  let left = lingerBytes
  let isOver = false
  const endIfOver = () => {
    if ((isOver || request.readableEnded) && socket.writableFinished) socket.destroy()
  }
  // What node calls when the last answer was written.
  socket.destroySoon = () => socket.end(endIfOver)
  const late = setTimeout(() => socket.destroy(), lingerMs)
  late.unref()
  socket.once("close", () => clearTimeout(late))
  request.once("end", endIfOver)
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length
    if (left > 0 && !trickles(request)) return
    isOver = true
    request.pause()
    endIfOver()
  })
}
