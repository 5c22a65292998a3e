import type { IncomingMessage } from "node:http"

/** Whether a method changes nothing, so that pages of other origins may send it. */
export function isSafeMethod(method: string | undefined): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS"
}

/**
 * Whether a browser says that a page of another origin sent the request. Programs send neither
 * `Origin` nor `Sec-Fetch-Site`. `sharedOrigin` may send requests although it is another one.
 */
export function declaresOtherOrigin({ headers }: IncomingMessage, ownOrigins: readonly string[], sharedOrigin?: string): boolean {
  const { origin, "sec-fetch-site": site } = headers
  if (origin !== undefined && origin === sharedOrigin) return false
  if (origin !== undefined && !ownOrigins.includes(origin)) return true
  return site !== undefined && site !== "same-origin" && site !== "none"
}
