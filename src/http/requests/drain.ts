import type { IncomingMessage } from "node:http"
import { bounds } from "#contract"
import { hasTinyChunks } from "../node/buffered-request.ts"
import { replaceDestroySoon } from "../node/destroy-soon.ts"
import { hasBody } from "./headers.ts"

export interface DrainOptions {
  /** A body of so many bytes or more is answered before it has arrived. Default 65,536. */
  earlyResponseBytes?: number
  /** How much of the body is read and discarded. Default 64 MiB. */
  maxBytes?: number
  /** How long that may take in all. Default 10 s. */
  timeoutMs?: number
}

/** How the body of an anonymous caller's rejected request is drained. */
export const anonymousDrain: Required<DrainOptions> = {
  earlyResponseBytes: bounds.http.anonymousBodyBytes.value,
  maxBytes: bounds.http.anonymousDiscardedBytes.value,
  timeoutMs: bounds.http.anonymousBodyMs.value,
}

/**
 * Discards the rest of a rejected body. Resolves when the response may be sent: at once if the body
 * has `earlyResponseBytes` or more, or else when all of it has arrived, since some clients
 * (Python's urllib3) close a connection that answers before they have sent the body. If it resolves
 * to true, the response must carry `Connection: close`. Later bytes are drained for a while: a
 * socket that is closed with unread bytes resets its connection, and the response is lost.
 */
export async function drainBody(request: IncomingMessage, options: DrainOptions = {}): Promise<boolean> {
  const { earlyResponseBytes = 65_536, maxBytes = 64 * 2 ** 20, timeoutMs = 10_000 } = options
  if (request.complete || request.destroyed || !hasBody(request)) return false
  const until = performance.now() + timeoutMs
  if (Number(request.headers["content-length"] ?? 0) < earlyResponseBytes) await discard(request, earlyResponseBytes, timeoutMs)
  if (request.complete || request.destroyed) return false
  drainAfterResponse(request, maxBytes, Math.max(minDrainMs, until - performance.now()))
  return true
}

/** Resolves when the body has ended, is too long, arrives too slowly, or in tiny chunks. */
async function discard(request: IncomingMessage, maxBytes: number, timeoutMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let left = maxBytes
  const onData = (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0 || hasTinyChunks(request)) resolve()
  }
  request.on("data", onData)
  for (const event of ["end", "error", "close"] as const) request.once(event, () => resolve())
  const late = setTimeout(resolve, timeoutMs).unref()
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
