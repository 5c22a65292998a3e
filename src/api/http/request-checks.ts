import type { IncomingMessage } from "node:http"
import { Failure } from "#contract"
import { type AllowedHosts, checkTarget, checkTransferEncoding, countHeader, declaresOtherOrigin, isNavigation, isSafeMethod } from "#http"

/** Rejects an invalid head of a request. `host` is the authority that the request names. */
export function checkRequestHead(request: IncomingMessage, { hosts, host }: { hosts: AllowedHosts; host: string }): void {
  checkTarget(request)
  // A proxy in front may have used the other one (RFC 9112, 3.2).
  const count = countHeader(request, "host")
  if (count > 1) throw new Failure("invalid", `Host must stand once; it stands ${count} times`, { field: "Host" })
  checkTransferEncoding(request)
  if (hosts.has(host)) return
  const came = host === "" ? "none" : JSON.stringify(host.slice(0, 100))
  throw new Failure("invalid", `Host must be the base URL's name or a loopback one; got ${came}`, { field: "Host" })
}

/**
 * Rejects a write if a browser says that it comes from another origin. `origin` is the configured
 * base URL's; without one, that of `Host` counts. A write by the browser's session must name its
 * origin. A read by it, which uses up what its person may read and follow, may come from elsewhere
 * only as a link that opens a page.
 */
export function checkOrigin(request: IncomingMessage, options: { origin: string | undefined; host: string; bySession: boolean }): void {
  const isRead = isSafeMethod(request.method)
  if (isRead && (!options.bySession || isNavigation(request))) return
  const host = options.host.toLowerCase()
  const origins = options.origin === undefined ? [`http://${host}`, `https://${host}`] : [options.origin]
  if (declaresOtherOrigin(request, origins)) {
    throw new Failure("forbidden", `A page of another origin may not ${isRead ? "read" : "change"} anything here`)
  }
  if (isRead) return
  const { origin, "sec-fetch-site": site } = request.headers
  if (options.bySession && origin === undefined && site === undefined) {
    throw new Failure("forbidden", "A write with a browser's session must carry Origin or Sec-Fetch-Site")
  }
}
