import type { IncomingMessage } from "node:http"
import { bounds, Failure } from "#contract"
import { hasBody, hasTinyChunks, tinyChunksMsg } from "#http"

/** How deep a body's lists and objects may lie in each other. */
export const depthMax = bounds.texts.bodyLevels.value

export interface BodyOptions {
  maxBytes: number
  /** How long the body may take from here on. Default: as long as any request. */
  timeoutMs?: number
}

/**
 * Reads and parses a JSON body; every refusal is a `Failure`. What is too long is not kept in
 * memory.
 */
export async function readJson(request: IncomingMessage, options: BodyOptions): Promise<unknown> {
  checkType(request.headers["content-type"])
  checkCoding(request.headers["content-encoding"])
  const text = decode(await readAll(request, options))
  if (depthOf(text) > depthMax) throw new Failure("invalid", `The body may be ${depthMax} levels deep at most`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Failure("invalid", `The body must be JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

function checkType(type: string | undefined): void {
  const [essence = "", ...parameters] = (type ?? "").toLowerCase().split(";")
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="))
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset)
  if (essence.trim() !== "application/json" || !isUtf8) {
    throw new Failure(
      "unsupported_media_type",
      `Content-Type must be application/json in UTF-8; got ${type === undefined ? "none" : JSON.stringify(type.slice(0, 60))}`,
    )
  }
}

function checkCoding(coding: string | undefined): void {
  if (coding === undefined || coding.trim().toLowerCase() === "identity") return
  throw new Failure(
    "unsupported_media_type",
    `A body must come as it is, without Content-Encoding; got ${JSON.stringify(coding.slice(0, 60))}`,
  )
}

function tooLarge(maxBytes: number): Failure {
  return new Failure("too_large", `The body may have ${maxBytes.toLocaleString("en")} bytes at most`)
}

function tooSlow(timeoutMs: number): Failure {
  return new Failure("invalid", `A body that comes before any proof has ${timeoutMs / 1_000} s; it was not complete by then`, {
    status: 408,
    headers: { connection: "close" },
  })
}

/** The bytes of a body. What is too long is refused before it is read. */
async function readAll(request: IncomingMessage, { maxBytes, timeoutMs }: BodyOptions): Promise<Buffer> {
  if (!hasBody(request)) return Buffer.alloc(0)
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const late = timeoutMs === undefined ? undefined : setTimeout(() => reject(tooSlow(timeoutMs)), timeoutMs)
  collect(request, maxBytes, { resolve, reject })
  return promise.finally(() => clearTimeout(late))
}

function collect(
  request: IncomingMessage,
  maxBytes: number,
  { resolve, reject }: Pick<PromiseWithResolvers<Buffer>, "resolve" | "reject">,
): void {
  const chunks: Buffer[] = []
  let size = 0
  const take = (chunk: Buffer) => {
    size += chunk.length
    if (size <= maxBytes && !hasTinyChunks(request)) return void chunks.push(chunk)
    request.off("data", take).pause()
    reject(hasTinyChunks(request) ? new Failure("invalid", tinyChunksMsg) : tooLarge(maxBytes))
  }
  request.on("data", take)
  request.on("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
  const cutOff = () => {
    if (!request.complete) reject(new Failure("invalid", "The body ended before it was complete"))
  }
  request.on("error", cutOff)
  request.on("close", cutOff)
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new Failure("invalid", "The body must be UTF-8")
  }
}

/**
 * The greatest depth of brackets outside strings. What is not JSON may be counted wrong; the parser
 * refuses it anyway.
 */
export function depthOf(text: string): number {
  let depth = 0
  let greatest = 0
  for (let i = 0; i < text.length; i += 1) {
    const c = text.charCodeAt(i)
    if (c === 34) i = endOfString(text, i)
    else if (c === 91 || c === 123) {
      depth += 1
      if (depth > greatest) greatest = depth
    } else if (c === 93 || c === 125) depth -= 1
  }
  return greatest
}

function endOfString(text: string, start: number): number {
  for (let i = text.indexOf('"', start + 1); i >= 0; i = text.indexOf('"', i + 1)) {
    let slashes = 0
    while (text.charCodeAt(i - 1 - slashes) === 92) slashes += 1
    if (slashes % 2 === 0) return i
  }
  return text.length
}
