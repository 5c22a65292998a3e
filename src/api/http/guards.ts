import type { IncomingMessage } from "node:http"
import { BlockList, isIP } from "node:net"
import { Failure } from "#contract"

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

/** Refuses a `Host` that is neither configured nor loopback: a page elsewhere could point its own name here (DNS rebinding). */
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

const reads = new Set(["GET", "HEAD", "OPTIONS"])

/**
 * Refuses a write when a browser says that it comes from elsewhere. `origin` is the configured base URL's; without one the `Host`'s counts. A write that the
 * browser's session proves must say where it comes from.
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

/** Reads a list of addresses and networks such as `10.0.0.0/8, ::1`. Throws on anything else. */
export function addressList(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/")
    const family = isIP(address) === 6 ? "ipv6" : "ipv4"
    if (isIP(address) === 0) throw new TypeError(`An IP address or network is wanted, got ${JSON.stringify(entry)}`)
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}

/** Where a request really comes from: the last address of `X-Forwarded-For` that is no trusted proxy, when the peer is one. */
export function callerAddress(request: IncomingMessage, trusted: BlockList): string {
  const peer = plainAddress(request.socket.remoteAddress ?? "")
  const forwarded = request.headers["x-forwarded-for"]
  if (forwarded === undefined || !isIn(trusted, peer)) return peer
  const hops = String(forwarded)
    .split(",")
    .map((hop) => plainAddress(hop.trim()))
  for (const hop of hops.reverse()) {
    if (isIP(hop) === 0) return peer
    if (!isIn(trusted, hop)) return hop
  }
  return peer
}

/** Whether a request comes from this machine. What was forwarded from elsewhere does not, whatever its last hop. */
export function isFromLoopback(request: IncomingMessage, address: string): boolean {
  const forwarded = request.headers["x-forwarded-for"] ?? request.headers.forwarded
  const peer = plainAddress(request.socket.remoteAddress ?? "")
  return isLoopback(peer) && (forwarded === undefined || (address !== peer && isLoopback(address)))
}

function isLoopback(address: string): boolean {
  return address === "::1" || (isIP(address) === 4 && address.startsWith("127."))
}

function isIn(list: BlockList, address: string): boolean {
  return isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4")
}

function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}
