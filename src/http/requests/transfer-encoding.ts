import type { IncomingHttpHeaders } from "node:http"

/**
 * The error in a request's `Transfer-Encoding`, as a sentence. Node's parser decodes only
 * `chunked`: a body in `gzip, chunked` would be stored in gzip.
 */
export function transferEncodingError({ "transfer-encoding": coding }: IncomingHttpHeaders): string | undefined {
  if (coding === undefined || coding.trim().toLowerCase() === "chunked") return undefined
  return `Of transfer codings only chunked is known; got ${JSON.stringify(coding.slice(0, 60))}`
}
