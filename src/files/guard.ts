import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"
import { transferEncodingError } from "#http"
import { forbidden, invalid } from "./failures.ts"
import { isReadMethod } from "./methods/method-names.ts"

/**
 * `Host` must be a configured name or a loopback one: a page elsewhere cannot rename itself into
 * this server (DNS rebinding).
 */
export function checkHost(request: IncomingMessage, allowed: ReadonlySet<string>): void {
  const authority = /^https?:\/\/([^/?#]*)/i.exec(request.url ?? "")?.[1] ?? request.headers.host ?? ""
  const name = hostName(authority)
  if (!isOurs(name, allowed)) throw invalid(`Host ${JSON.stringify(authority)} is not a name of this server`)
}

export function isOurs(name: string, allowed: ReadonlySet<string>): boolean {
  return isLoopback(name) || allowed.has(name)
}

/** The name without a port; brackets of an IPv6 address are taken off. */
export function hostName(authority: string): string {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]@]*))(?::\d*)?$/i.exec(authority)
  return (match?.[1] ?? match?.[2] ?? "").toLowerCase()
}

function isLoopback(name: string): boolean {
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."))
}

/**
 * Headers that decide who is asked for what, and by whom, may stand once only: of two, others on
 * the way may have read the other one.
 */
export function checkSingle({ rawHeaders }: IncomingMessage): void {
  const seen = new Set<string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ""
    if (!single.has(name)) continue
    if (seen.has(name)) throw invalid(`The header ${rawHeaders[i]} stands twice`)
    seen.add(name)
  }
}
const single = new Set(["authorization", "host", "destination", "depth", "overwrite", "if-match", "origin"])

/** A body in a transfer coding that nobody here takes off would be stored in it. */
export function checkTransferEncoding({ headers }: IncomingMessage): void {
  const fault = transferEncodingError(headers)
  if (fault !== undefined) throw invalid(fault)
}

/**
 * A write that a browser sends for a page of another place is refused, whatever proof goes with it.
 * Programs send neither header.
 */
export function checkOrigin(request: IncomingMessage, allowedOrigin: string | undefined): void {
  if (isReadMethod(request.method)) return
  const { origin, "sec-fetch-site": site } = request.headers
  if (origin !== undefined) {
    if (origin !== allowedOrigin) throw forbidden(`A page at ${JSON.stringify(origin)} may not write here`)
    return
  }
  if (site !== undefined && site !== "same-origin" && site !== "none") throw forbidden("A page of another place may not write here")
}
