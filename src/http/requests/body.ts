import type { IncomingMessage } from "node:http"
import { bounds, Failure } from "#contract"
import { systemUserId } from "#kit"
import { PacedReader, sharedTurnBudget } from "../connections/turn-budget.ts"
import { hasTinyChunks } from "../node/buffered-request.ts"
import { hasBody } from "./headers.ts"

/** Shorter bodies cost little more than their heads, and are not paced. */
const { plainBodyBytes } = bounds.texts

export interface BodyOptions {
  maxBytes: number
  /** How long the body may take from now on. Default: the server's limit for a request. */
  timeoutMs?: number
  /** The person for whom the bytes of a large body count. */
  userId?: number | undefined
}

/** The client closed the connection, or broke HTTP, within its body. */
export class IncompleteBodyError extends Failure {
  constructor() {
    super("invalid", "The body ended before it was complete")
  }
}

/**
 * Reads a body that fits into memory. Throws a `Failure`: 413 when it is too long, 400 when it
 * comes in thousands of tiny chunks, 408 when it comes too slowly, and `IncompleteBodyError`.
 */
export async function readBody(request: IncomingMessage, { maxBytes, timeoutMs, userId = systemUserId }: BodyOptions): Promise<Buffer> {
  if (!hasBody(request)) return Buffer.alloc(0)
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  // The events of a client that left before this call never come again.
  if (request.destroyed) throw new IncompleteBodyError()
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => reject(tooSlow(timeoutMs)), timeoutMs)
  const chunks: Buffer[] = []
  let length = 0
  let isRejected = false
  const isPaced = Number(request.headers["content-length"] ?? maxBytes) > plainBodyBytes.value
  const reader = isPaced ? new PacedReader(() => void (isRejected || request.resume()), sharedTurnBudget) : undefined
  const onData = (chunk: Buffer) => {
    length += chunk.length
    if (length <= maxBytes && !hasTinyChunks(request)) {
      chunks.push(chunk)
      if (reader?.countRead(userId, chunk.length) === false) request.pause()
      return
    }
    isRejected = true
    request.off("data", onData).pause()
    reject(hasTinyChunks(request) ? new Failure("invalid", "The body must come in larger pieces") : tooLarge(maxBytes))
  }
  const onClose = () => void (request.readableEnded || reject(new IncompleteBodyError()))
  request.on("data", onData)
  request.on("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
  request.on("error", onClose)
  request.on("close", onClose)
  return promise.finally(() => clearTimeout(timer))
}

function tooLarge(maxBytes: number): Failure {
  return new Failure("too_large", `The body may have ${maxBytes.toLocaleString("en")} bytes at most`)
}

function tooSlow(timeoutMs: number): Failure {
  return new Failure("invalid", `A body without credentials must arrive within ${timeoutMs / 1_000} s; it did not`, {
    status: 408,
    headers: { connection: "close" },
  })
}
