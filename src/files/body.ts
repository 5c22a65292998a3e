import type { IncomingMessage } from "node:http"
import { bounds, Failure } from "#contract"
import { hasBody, hasTinyChunks, tinyChunksMsg } from "#http"
import { ClientGone, invalid } from "./failures.ts"
import type { DavRequest } from "./requests/dav-request.ts"

/**
 * Reads a body that fits into memory; a longer one is refused with 413, one in thousands of tiny
 * pieces with 400.
 */
export async function readBody(request: IncomingMessage, most: number): Promise<Buffer> {
  if (!hasBody(request)) return Buffer.alloc(0)
  const tooLarge = () => new Failure("too_large", `The body has more than ${most} bytes`)
  if (Number(request.headers["content-length"] ?? 0) > most) throw tooLarge()
  const chunks: Buffer[] = []
  let length = 0
  return new Promise((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      length += chunk.length
      if (length > most) reject(tooLarge())
      else if (hasTinyChunks(request)) reject(invalid(tinyChunksMsg))
      else chunks.push(chunk)
    })
    request.once("end", () => resolve(Buffer.concat(chunks)))
    request.once("error", () => reject(new ClientGone()))
    request.once("close", () => reject(new ClientGone()))
  })
}

/**
 * Reads an XML body. A long one waits for its caller's turn of the processor before it is parsed.
 */
export async function readXml({ incoming, context, person }: DavRequest): Promise<Buffer> {
  const body = await readBody(incoming, bounds.files.xmlBytes.value)
  if (body.length > shortXml) await context.scheduler.waitForSlot(person.userId)
  return body
}
/** Parsing it takes a fraction of a millisecond. */
const shortXml = 2_048
