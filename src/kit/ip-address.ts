import { isIP, isIPv6 } from "node:net"

/**
 * The network that counts as one sender: an IPv4 address, or the /64 of an IPv6 address, since one
 * machine usually has a whole /64.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped?.[1]) return mapped[1]
  if (!isIPv6(address)) return address.slice(0, 64)
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? []
  const first = head === "" ? [] : head.split(":")
  const last = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array.from({ length: zeros }, () => "0"), ...last]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`
}

/** Whether an address is a loopback address. */
export function isLoopbackAddress(address: string): boolean {
  return address === "::1" || (isIP(address) === 4 && address.startsWith("127."))
}

/** Whether an entry is an address, or a network like `10.0.0.0/8`. */
export function isAddressOrNetwork(entry: string): boolean {
  const [address = "", bits, more] = entry.split("/")
  const maxBits = isIP(address) === 6 ? 128 : 32
  return isIP(address) !== 0 && more === undefined && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits))
}

/** The IPv4 form of `::ffff:1.2.3.4`, as sockets for both families report it. */
export function unmapIPv4(address: string): string {
  return /^::ffff:/i.test(address) && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}
