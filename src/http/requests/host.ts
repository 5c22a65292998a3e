import type { IncomingMessage } from "node:http"
import { isLoopbackAddress } from "#kit"

/**
 * The name in a `Host` header or an authority, without the port and in lower case; an IPv6 address
 * keeps its brackets, as in a URL. Empty when it is malformed.
 */
export function hostName(authority: string): string {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{0,5})?$/i.exec(authority)
  return match?.[1]?.toLowerCase() ?? ""
}

/**
 * The origin of a `Host` header as browsers name it: in lower case, without the scheme's own port.
 * `protocol` ends in a colon, as in a `URL`.
 */
export function originOfHost(protocol: string, host: string): string {
  const ownPort = protocol === "https:" ? ":443" : ":80"
  const end = host.endsWith(ownPort) ? -ownPort.length : host.endsWith(":") ? -1 : host.length
  return `${protocol}//${host.slice(0, end).toLowerCase()}`
}

/** Whether a host name means this machine with every resolver. */
export function isLoopbackName(name: string): boolean {
  return name === "localhost" || isLoopbackAddress(name.startsWith("[") ? name.slice(1, -1) : name)
}

/** The size of the cache of accepted authorities: most requests name the same few. */
const maxCached = 64

/**
 * The hosts that a server answers as: its configured names and the loopback ones. A page elsewhere
 * could point a name of its own here (DNS rebinding).
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>
  readonly #accepted = new Set<string>()

  /** Names beside the loopback ones, in lower case. */
  constructor(names: Iterable<string>) {
    this.#names = new Set(names)
  }

  /** Whether a `Host` header or an authority names this server. */
  has(authority: string): boolean {
    if (this.#accepted.has(authority)) return true
    const name = hostName(authority)
    if (!this.#names.has(name) && !isLoopbackName(name)) return false
    if (this.#accepted.size < maxCached) this.#accepted.add(authority)
    return true
  }
}

/** The authority of a target in absolute form, or the `Host` header. */
export function authorityOf({ url = "", headers }: IncomingMessage): string {
  if (url.startsWith("/")) return headers.host ?? ""
  return /^https?:\/\/([^/?#]*)/i.exec(url)?.[1] ?? headers.host ?? ""
}
