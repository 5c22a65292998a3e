import type { IncomingHttpHeaders, IncomingMessage } from "node:http"
import { isSafeMethod } from "./origin.ts"

/** Whether the headers name a top-level page. Only such a request may be redirected to sign-in. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  if (method !== "GET" && method !== "HEAD") return false
  const { "sec-fetch-dest": dest, "sec-fetch-mode": mode } = headers
  if (dest !== undefined) return dest === "document"
  return mode === undefined ? acceptsHtml(headers) : mode === "navigate"
}

/** Whether the client prefers a page to JSON. */
export function prefersHtml({ headers }: IncomingMessage): boolean {
  const dest = headers["sec-fetch-dest"]
  return dest === undefined ? acceptsHtml(headers) : dest === "document" || isFrame(dest)
}

/** Whether a browser fetches the script of a service worker, which could answer for its origin. */
export function isServiceWorkerScript({ headers }: IncomingMessage): boolean {
  return headers["service-worker"] !== undefined || headers["sec-fetch-dest"] === "serviceworker"
}

/** Whether a browser loads this into a page or a tab; false for a script's `fetch`. */
export function isBrowserLoad({ method, headers }: IncomingMessage): boolean {
  const { "sec-fetch-dest": dest, "sec-fetch-mode": mode } = headers
  if (dest !== undefined || mode !== undefined) return (dest !== undefined && dest !== "empty") || mode === "navigate"
  return headers.authorization === undefined && (method === "GET" || method === "HEAD") && acceptsHtml(headers)
}

/**
 * Whether a page of another origin could have sent a request that a cookie authenticates. Other
 * origins may send top-level navigations only. Writes and upgrades must name their origin.
 *
 * Pages cannot set `Sec-Fetch-Site`, so it counts if it is present. `Origin` is `null` also within
 * one origin if the page sends no referrer.
 */
export function isCrossOrigin(request: IncomingMessage, origin: string): boolean {
  const { origin: said, "sec-fetch-site": site } = request.headers
  if (said !== undefined && said !== origin && !(said === "null" && site === "same-origin" && !isUpgrade(request))) return true
  if (site === "same-origin" || site === "none") return false
  if (site !== undefined) return !isNavigation(request) || isUpgrade(request)
  return said === undefined && (isUpgrade(request) || !isSafeMethod(request.method))
}

/** Whether a navigation starts outside of the origin: typed, a bookmark, or a link elsewhere. */
export function isExternalNavigation(request: IncomingMessage): boolean {
  const site = request.headers["sec-fetch-site"]
  return isNavigation(request) && site !== undefined && site !== "same-origin"
}

function isUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined
}

function isFrame(dest: string | string[]): boolean {
  return dest === "iframe" || dest === "frame" || dest === "embed" || dest === "object" || dest === "fencedframe"
}

function acceptsHtml({ accept }: IncomingHttpHeaders): boolean {
  return accept?.toLowerCase().includes("text/html") ?? false
}
