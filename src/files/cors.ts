import type { IncomingMessage, ServerResponse } from "node:http"
import { methodNames } from "./methods/method-names.ts"
import { sendEmpty } from "./responses.ts"

const allowedHeaders =
  "Authorization, Content-Type, Depth, Destination, If, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, If-Range, Lock-Token, Overwrite, Range, Timeout, Tus-Resumable, Upload-Length, Upload-Metadata, Upload-Offset, X-OC-Mtime"
const exposedHeaders =
  "Content-Length, Content-Range, Content-Disposition, DAV, ETag, Last-Modified, Location, Lock-Token, Retry-After, Tus-Resumable, Upload-Expires, Upload-Length, Upload-Metadata, Upload-Offset, WWW-Authenticate"

/**
 * Lets pages of one origin, the web UI's, use the files address with a token in `Authorization`.
 * Browsers send no stored credentials, since `Access-Control-Allow-Credentials` is missing. Returns
 * true for a preflight request, which is answered.
 */
export function handleCors(origin: string | undefined, request: IncomingMessage, response: ServerResponse): boolean {
  if (origin === undefined) return false
  response.setHeader("Vary", "Origin")
  if (request.headers.origin !== origin) return false
  response.setHeader("Access-Control-Allow-Origin", origin)
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) {
    response.setHeader("Access-Control-Expose-Headers", exposedHeaders)
    return false
  }
  sendEmpty(response, 204, {
    "Access-Control-Allow-Methods": methodNames.join(", "),
    "Access-Control-Allow-Headers": allowedHeaders,
    "Access-Control-Max-Age": "600",
  })
  return true
}
