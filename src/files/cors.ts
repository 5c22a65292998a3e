import type { IncomingMessage, ServerResponse } from "node:http"
import { methodNames } from "./methods/method-names.ts"
import { answerEmpty } from "./respond.ts"

const allowedHeaders =
  "Authorization, Content-Type, Depth, Destination, If, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, If-Range, Lock-Token, Overwrite, Range, Timeout"
const exposedHeaders =
  "Content-Length, Content-Range, Content-Disposition, DAV, ETag, Last-Modified, Lock-Token, Retry-After, WWW-Authenticate"

/**
 * Lets pages of one origin, the web UI's, use the files address with a token in `Authorization`;
 * never with what a browser keeps for this address itself, since credentials are not allowed.
 * Answers true when the request was only the browser's question whether it may.
 */
export function shareWith(origin: string | undefined, request: IncomingMessage, response: ServerResponse): boolean {
  if (origin === undefined) return false
  response.setHeader("Vary", "Origin")
  if (request.headers.origin !== origin) return false
  response.setHeader("Access-Control-Allow-Origin", origin)
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) {
    response.setHeader("Access-Control-Expose-Headers", exposedHeaders)
    return false
  }
  const Allow = methodNames.join(", ")
  answerEmpty(response, 204, {
    "Access-Control-Allow-Methods": Allow,
    "Access-Control-Allow-Headers": allowedHeaders,
    "Access-Control-Max-Age": "600",
  })
  return true
}
