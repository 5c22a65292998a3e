import type { IncomingMessage } from "node:http"
import { BlockList, isIP } from "node:net"
import { isAddressOrNetwork, unmapIPv4 } from "#kit"

/**
 * Finds the client's address. `X-Forwarded-For` counts only from trusted peers, and is read from
 * the nearest hop backwards: anybody may have written the entries before the last untrusted one.
 */
export class TrustedProxies {
  readonly #trusted = new BlockList()
  readonly #isEmpty: boolean

  /**
   * `trusted`: addresses and networks such as `10.0.0.0/8`. Throws `TypeError` on anything else.
   */
  constructor(trusted: readonly string[]) {
    this.#isEmpty = trusted.length === 0
    for (const entry of trusted) addTo(this.#trusted, entry)
  }

  /** The client's address: the last one that is no trusted proxy's, or else the farthest known. */
  clientAddress(request: IncomingMessage): string {
    const peer = peerAddress(request)
    if (this.#isEmpty) return peer
    return this.#chain(request, peer)[0] ?? peer
  }

  /** The `X-Forwarded-For` of a forwarded request: trusted proxies' entries, and the peer. */
  forwardedFor(request: IncomingMessage): string {
    const peer = peerAddress(request)
    return this.#isEmpty ? peer : this.#chain(request, peer).join(", ")
  }

  trusts(address: string): boolean {
    if (this.#isEmpty) return false
    const plain = unmapIPv4(address)
    return isIP(plain) !== 0 && this.#trusted.check(plain, family(plain))
  }

  /**
   * Farthest first, from the client on. It may have forged the entries before its own, and those
   * before one that is no address: none of them is read.
   */
  #chain(request: IncomingMessage, peer: string): string[] {
    const said = String(request.headers["x-forwarded-for"] ?? "")
    const chain = [peer]
    for (let end = said.length; end > 0 && this.trusts(chain.at(-1) as string); ) {
      const start = said.lastIndexOf(",", end - 1) + 1
      const hop = unmapIPv4(said.slice(start, end).trim())
      if (isIP(hop) === 0) break
      chain.push(hop)
      end = start - 1
    }
    return chain.reverse()
  }
}

/** The address at the other end of the connection. */
export function peerAddress(request: IncomingMessage): string {
  return unmapIPv4(request.socket.remoteAddress ?? "unknown")
}

function addTo(list: BlockList, entry: string): void {
  const [address = "", bits] = entry.split("/")
  if (!isAddressOrNetwork(entry))
    throw new TypeError(`A trusted proxy is an address or a network like 10.0.0.0/8; got ${JSON.stringify(entry)}`)
  if (bits === undefined) list.addAddress(address, family(address))
  else list.addSubnet(address, Number(bits), family(address))
}

function family(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4"
}
