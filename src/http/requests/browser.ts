import type { IncomingHttpHeaders, IncomingMessage } from "node:http"
import { isSafeMethod } from "./origin.ts"

/** The page of a tab, as far as headers tell: only such a request may be sent on to signing in. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  if (method !== "GET" && method !== "HEAD") return false
  const { "sec-fetch-dest": dest, "sec-fetch-mode": mode } = headers
  if (dest !== undefined) return dest === "document"
  return mode === undefined ? acceptsHtml(headers) : mode === "navigate"
}

/** Whether whoever asks would rather read a page than JSON. */
export function prefersHtml({ headers }: IncomingMessage): boolean {
  const dest = headers["sec-fetch-dest"]
  return dest === undefined ? acceptsHtml(headers) : dest === "document" || isFrame(dest)
}

/**
 * A browser fetches the script of a service worker, which would answer for the whole origin from
 * then on.
 */
export function isServiceWorkerScript({ headers }: IncomingMessage): boolean {
  return headers["service-worker"] !== undefined || headers["sec-fetch-dest"] === "serviceworker"
}

/**
 * What a browser loads into a page or a tab, by whatever element; not what a page's script asks for
 * with `fetch`.
 */
export function isBrowserLoad({ method, headers }: IncomingMessage): boolean {
  const { "sec-fetch-dest": dest, "sec-fetch-mode": mode } = headers
  if (dest !== undefined || mode !== undefined) return (dest !== undefined && dest !== "empty") || mode === "navigate"
  return headers.authorization === undefined && (method === "GET" || method === "HEAD") && acceptsHtml(headers)
}

/**
 * Whether a page of another origin could be behind a request that a cookie proves. Top-level
 * navigations may come from anywhere; everything else, frames included, comes from the same origin.
 * A request that changes something, or opens a socket, says where it comes from.
 *
 * A browser writes `Sec-Fetch-Site` itself, so where it stands it counts; `Origin` is `null` also
 * within one origin when the page sends no referrer.
 */
export function isCrossOrigin(request: IncomingMessage, origin: string): boolean {
  const { origin: said, "sec-fetch-site": site } = request.headers
  if (said !== undefined && said !== origin && !(said === "null" && site === "same-origin" && !isSocket(request))) return true
  if (site === "same-origin" || site === "none") return false
  if (site !== undefined) return !isNavigation(request) || isSocket(request)
  return said === undefined && (isSocket(request) || !isSafeMethod(request.method))
}

/** Whether a navigation was begun outside of the origin: typed, a bookmark, or a link elsewhere. */
export function isExternalNavigation(request: IncomingMessage): boolean {
  const site = request.headers["sec-fetch-site"]
  return isNavigation(request) && site !== undefined && site !== "same-origin"
}

function isSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined
}

function isFrame(dest: string | string[]): boolean {
  return dest === "iframe" || dest === "frame" || dest === "embed" || dest === "object" || dest === "fencedframe"
}

function acceptsHtml({ accept }: IncomingHttpHeaders): boolean {
  return accept?.toLowerCase().includes("text/html") ?? false
}
