import type { IncomingMessage } from "node:http"
import { bounds, Failure } from "#contract"
import { type BodyOptions, readBody } from "#http"

/** How deeply a body's arrays and objects may be nested. */
const maxDepth = bounds.texts.bodyLevels.value

/** Reads and parses a JSON body; every refusal is a `Failure`. */
export async function readJson(request: IncomingMessage, options: BodyOptions): Promise<unknown> {
  checkType(request.headers["content-type"])
  checkEncoding(request.headers["content-encoding"])
  const text = decode(await readBody(request, options))
  if (depthOf(text) > maxDepth) throw new Failure("invalid", `The body may be ${maxDepth} levels deep at most`)
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

function checkEncoding(coding: string | undefined): void {
  if (coding === undefined || coding.trim().toLowerCase() === "identity") return
  throw new Failure(
    "unsupported_media_type",
    `A body must come as it is, without Content-Encoding; got ${JSON.stringify(coding.slice(0, 60))}`,
  )
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
 * The greatest depth of brackets outside strings. The count may be wrong for a text
 * that is not JSON, which the parser rejects anyway.
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
