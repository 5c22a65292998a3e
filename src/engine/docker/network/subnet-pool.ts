import { bounds } from "#contract"

/** An IPv4 network: its first address as a number, and the length of its prefix. */
export interface Subnet {
  first: number
  prefix: number
}

/**
 * The prefix length of each person's network: a power of two, with three addresses that no run
 * gets. A person with more runs gets another network.
 */
const personPrefix = 32 - Math.log2(bounds.containers.runsOnNetwork.value + 3)

/**
 * Parses `10.213.0.0/16`, or an address alone. Undefined for anything else, including bits beyond
 * the prefix.
 */
export function parseSubnet(text: string): Subnet | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:\/(\d{1,2}))?$/.exec(text)
  if (!match) return undefined
  const bytes = match.slice(1, 5).map(Number)
  const prefix = Number(match[5] ?? 32)
  if (bytes.some((byte) => byte > 255) || prefix > 32) return undefined
  const first = bytes.reduce((sum, byte) => sum * 256 + byte, 0)
  return first % 2 ** (32 - prefix) === 0 ? { first, prefix } : undefined
}

export function parseAddress(text: string): number | undefined {
  const subnet = parseSubnet(text)
  return subnet?.prefix === 32 ? subnet.first : undefined
}

export function isSubnet(text: string): boolean {
  return parseSubnet(text) !== undefined
}

/** Whether people's networks can be cut from it: /8 to /24. */
export function isNetworkPool(text: string): boolean {
  const prefix = parseSubnet(text)?.prefix ?? 0
  return prefix >= 8 && prefix <= 24
}

export function formatSubnet({ first, prefix }: Subnet): string {
  return `${formatAddress(first)}/${prefix}`
}

export function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".")
}

/** The numbered subnets of a pool, one per network. */
export class SubnetPool {
  readonly #pool: Subnet
  readonly #prefix: number
  readonly size: number

  /**
   * `prefix` is the prefix length of each subnet. Throws a `TypeError` unless the text is a network
   * of /8 to /24.
   */
  constructor(text: string, prefix: number = personPrefix) {
    const pool = parseSubnet(text)
    if (!pool || !isNetworkPool(text)) throw new TypeError(`Expected a network from /8 to /24, got ${JSON.stringify(text)}`)
    this.#pool = pool
    this.#prefix = prefix
    this.size = 2 ** (prefix - pool.prefix)
  }

  get text(): string {
    return formatSubnet(this.#pool)
  }

  /** The number of addresses of each subnet. */
  get addresses(): number {
    return 2 ** (32 - this.#prefix)
  }

  at(number: number): Subnet {
    return { first: this.#pool.first + number * this.addresses, prefix: this.#prefix }
  }

  /**
   * A random free number, so that an address is not soon reused for another person; undefined if
   * all are taken.
   */
  pick(isTaken: (number: number) => boolean, random: () => number = Math.random): number | undefined {
    const begin = Math.floor(random() * this.size)
    for (let step = 0; step < this.size; step += 1) {
      const number = (begin + step) % this.size
      if (!isTaken(number)) return number
    }
    return undefined
  }
}
