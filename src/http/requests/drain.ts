import type { IncomingMessage } from "node:http"
import { bounds } from "#contract"
import { hasTinyChunks } from "../node/buffered-request.ts"
import { replaceDestroySoon } from "../node/destroy-soon.ts"
import { hasBody } from "./headers.ts"

export interface DrainOptions {
  /** A body with so many bytes or more is answered before it is there. Default 65,536. */
  answerBefore?: number
  /** How much of the body is read and discarded. Default 64 MiB. */
  maxBytes?: number
  /** How long that may take in all. Default 10 s. */
  timeoutMs?: number
}

/** How the body of an anonymous caller's rejected request is drained. */
export const anonymousDrain: Required<DrainOptions> = {
  answerBefore: bounds.http.anonymousBodyBytes.value,
  maxBytes: bounds.http.anonymousDiscardedBytes.value,
  timeoutMs: bounds.http.anonymousBodyMs.value,
}

/**
 * Throws away what still comes of a body that nobody wants. Resolves when the answer may be sent:
 * at once where the body has `answerBefore` bytes or more, else when all of it is there, since some
 * clients (Python's urllib3) close a connection that answers before they have sent the body. With
 * true the head of the answer must say `Connection: close`; what comes after it is still taken for
 * a while: a socket that is closed with unread bytes resets its connection, and the answer is lost.
 */
export async function drainBody(request: IncomingMessage, options: DrainOptions = {}): Promise<boolean> {
  const { answerBefore = 65_536, maxBytes = 64 * 2 ** 20, timeoutMs = 10_000 } = options
  if (request.complete || request.destroyed || !hasBody(request)) return false
  const until = performance.now() + timeoutMs
  if (Number(request.headers["content-length"] ?? 0) < answerBefore) await discard(request, answerBefore, timeoutMs)
  if (request.complete || request.destroyed) return false
  drainAfterResponse(request, maxBytes, Math.max(minDrainMs, until - performance.now()))
  return true
}

/**
 * Resolves when the body is over, or has more than so many bytes, or comes too slowly or in too
 * small pieces.
 */
async function discard(request: IncomingMessage, maxBytes: number, timeoutMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let left = maxBytes
  const onData = (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0 || hasTinyChunks(request)) resolve()
  }
  request.on("data", onData)
  for (const event of ["end", "error", "close"] as const) request.once(event, () => resolve())
  const late = setTimeout(resolve, timeoutMs)
  request.resume()
  await promise
  clearTimeout(late)
  request.off("data", onData)
}

/** The least time that a response has to reach its reader. */
const minDrainMs = 1_000

function drainAfterResponse(request: IncomingMessage, maxBytes: number, timeoutMs: number): void {
  const { socket } = request
  let isOver = false
  const endIfOver = () => {
    if (isOver && socket.writableFinished) socket.destroy()
  }
  replaceDestroySoon(socket, () => socket.end(endIfOver))
  const late = setTimeout(() => socket.destroy(), timeoutMs)
  late.unref()
  socket.once("close", () => clearTimeout(late))
  void discard(request, maxBytes, timeoutMs).then(() => {
    isOver = true
    request.pause()
    endIfOver()
  })
}
