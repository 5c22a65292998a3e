import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"
import { Failure } from "#contract"
import { peerAddress, transferEncodingError } from "#http"
import { isLoopbackAddress } from "#kit"

/** `host:port`, `[v6]:port` or `host`, without the port and in lower case. */
export function hostName(host: string): string {
  const match = /^(\[[0-9a-f:.]+\]|[^:/?#@\s]+)(?::\d{1,5})?$/i.exec(host)
  return match?.[1]?.toLowerCase() ?? ""
}

/** Whether a host name means this machine, whoever resolves it. */
export function isLoopbackName(name: string): boolean {
  return name === "localhost" || name === "[::1]" || (isIP(name) === 4 && name.startsWith("127."))
}

/** Hosts that were accepted lately, as they came: the same few come again and again. */
const acceptedMax = 64

/**
 * Refuses a `Host` that is neither configured nor loopback: a page elsewhere could point its own
 * name here (DNS rebinding).
 */
export class HostCheck {
  readonly #names: ReadonlySet<string>
  readonly #accepted = new Set<string>()

  /** Names beside the loopback ones, in lower case. */
  constructor(names: ReadonlySet<string>) {
    this.#names = names
  }

  check(host: string): void {
    if (this.#accepted.has(host)) return
    const name = hostName(host)
    if (!this.#names.has(name) && !isLoopbackName(name)) {
      const came = host === "" ? "none" : JSON.stringify(host.slice(0, 100))
      throw new Failure("invalid", `Host must be the base URL's name or a loopback one; got ${came}`, { field: "Host" })
    }
    if (this.#accepted.size < acceptedMax) this.#accepted.add(host)
  }
}

/**
 * Refuses a request with two `Host` headers: what stands in front may have gone by the other one
 * (RFC 9112, 3.2).
 */
export function checkOneHost({ rawHeaders }: IncomingMessage): void {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === "host") count += 1
  }
  if (count > 1) throw new Failure("invalid", `Host stands ${count} times; once is meant`, { field: "Host" })
}

/** Refuses a body in a transfer coding that nobody here takes off. */
export function checkTransferEncoding({ headers }: IncomingMessage): void {
  const fault = transferEncodingError(headers)
  if (fault !== undefined) throw new Failure("invalid", fault, { field: "Transfer-Encoding" })
}

const reads = new Set(["GET", "HEAD", "OPTIONS"])

/**
 * Refuses a write when a browser says that it comes from elsewhere. `origin` is the configured base
 * URL's; without one the `Host`'s counts. A write that the browser's session proves must say where
 * it comes from.
 */
export function checkOrigin(request: IncomingMessage, options: { origin: string | undefined; host: string; bySession: boolean }): void {
  if (reads.has(request.method ?? "")) return
  const { origin, "sec-fetch-site": site } = request.headers
  if (origin !== undefined && !sameOrigin(origin, options.origin, options.host)) throw elsewhere()
  if (site !== undefined && site !== "same-origin" && site !== "none") throw elsewhere()
  if (options.bySession && origin === undefined && site === undefined) {
    throw new Failure("forbidden", "A write that a browser's session proves must carry Origin or Sec-Fetch-Site")
  }
}

function sameOrigin(origin: string, configured: string | undefined, host: string): boolean {
  if (configured !== undefined) return origin === configured
  return origin === `http://${host.toLowerCase()}` || origin === `https://${host.toLowerCase()}`
}

function elsewhere(): Failure {
  return new Failure("forbidden", "A page from elsewhere may not change anything here")
}

/**
 * Whether a request comes from this machine. What was forwarded from elsewhere does not, whatever
 * its last hop.
 */
export function isFromLoopback(request: IncomingMessage, address: string): boolean {
  const forwarded = request.headers["x-forwarded-for"] ?? request.headers.forwarded
  const peer = peerAddress(request)
  return isLoopbackAddress(peer) && (forwarded === undefined || (address !== peer && isLoopbackAddress(address)))
}
