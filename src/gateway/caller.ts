import type { IncomingMessage } from "node:http"
import { BlockList, isIP } from "node:net"

/** Tells callers' addresses, through the proxies that are trusted to tell them. */
export class Callers {
  readonly #trusted = new BlockList()
  readonly #isEmpty: boolean

  /** `trusted`: addresses and networks, such as `10.0.0.0/8`. */
  constructor(trusted: readonly string[]) {
    this.#isEmpty = trusted.length === 0
    for (const entry of trusted) {
      const [address = "", prefix] = entry.split("/")
      if (isIP(address) === 0) throw new TypeError(`An IP address or network is wanted, got ${JSON.stringify(entry)}`)
      if (prefix === undefined) this.#trusted.addAddress(address, family(address))
      else this.#trusted.addSubnet(address, Number(prefix), family(address))
    }
  }

  /** The last address that no trusted proxy vouches for. */
  addressOf(request: IncomingMessage): string {
    const chain = this.chainOf(request).split(", ").reverse()
    return chain.find((address) => !this.#isTrusted(address)) ?? (chain.at(-1) as string)
  }

  /** What `X-Forwarded-For` tells the program: what trusted proxies said, and the peer. */
  chainOf(request: IncomingMessage): string {
    const peer = plain(request.socket.remoteAddress ?? "unknown")
    const said = request.headers["x-forwarded-for"]
    if (said === undefined || !this.#isTrusted(peer)) return peer
    const hops = String(said)
      .split(",")
      .map((hop) => plain(hop.trim()))
    const first = hops.findLastIndex((hop) => isIP(hop) === 0) + 1
    return [...hops.slice(first), peer].join(", ")
  }

  #isTrusted(address: string): boolean {
    return !this.#isEmpty && isIP(address) !== 0 && this.#trusted.check(address, family(address))
  }
}

function family(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4"
}

function plain(address: string): string {
  return address.startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}
