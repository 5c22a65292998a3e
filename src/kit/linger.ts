import type { IncomingMessage } from "node:http"
import { trickles } from "./request.ts"

/** So much of a body that nobody wants is still taken, and for so long. */
const mostBytes = 64 * 2 ** 20
const longestMs = 10_000

/**
 * Throws away what still comes of a body that nobody wants. Resolves when the answer may be sent: at once where the body has `first` bytes (default 65,536) or more, else when all of it is
 * there, since some clients (Python's urllib3) close a connection that answers before they have sent the body. With true the head of the answer must say `Connection: close`; what comes
 * after it is still taken for a while: a socket that is closed with unread bytes resets its connection, and the answer is lost.
 */
export async function passOver(request: IncomingMessage, first = 65_536): Promise<boolean> {
  if (request.complete || request.destroyed || !hasBody(request)) return false
  if (Number(request.headers["content-length"] ?? 0) < first) await throwAway(request, first)
  if (request.complete || request.destroyed) return false
  lingerOn(request)
  return true
}

/** Whether a body comes with the request, be it empty in the end. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0
}

/** Resolves when the body is over, or has more than so many bytes, or comes too slowly or in too small pieces. */
async function throwAway(request: IncomingMessage, most: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let left = most
  const onData = (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0 || trickles(request)) resolve()
  }
  request.on("data", onData)
  for (const event of ["end", "error", "close"] as const) request.once(event, () => resolve())
  const late = setTimeout(resolve, longestMs)
  request.resume()
  await promise
  clearTimeout(late)
  request.off("data", onData)
}

function lingerOn(request: IncomingMessage): void {
  const { socket } = request
  let isOver = false
  const endIfOver = () => {
    if (isOver && socket.writableFinished) socket.destroy()
  }
  // What node calls when the last answer was written.
  socket.destroySoon = () => socket.end(endIfOver)
  const late = setTimeout(() => socket.destroy(), longestMs)
  late.unref()
  socket.once("close", () => clearTimeout(late))
  void throwAway(request, mostBytes).then(() => {
    isOver = true
    request.pause()
    endIfOver()
  })
}
