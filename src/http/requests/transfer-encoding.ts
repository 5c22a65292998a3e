import type { IncomingHttpHeaders } from "node:http"

/**
 * What is wrong with a request's `Transfer-Encoding`, as a sentence. Node's parser takes only
 * `chunked` off a body: one of `gzip, chunked` would be taken as it came.
 */
export function transferEncodingError({ "transfer-encoding": coding }: IncomingHttpHeaders): string | undefined {
  if (coding === undefined || coding.trim().toLowerCase() === "chunked") return undefined
  return `Of transfer codings only chunked is known; got ${JSON.stringify(coding.slice(0, 60))}`
}
