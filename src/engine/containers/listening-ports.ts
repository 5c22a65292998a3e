import type { ListeningPort } from "../address.ts"

const listening = "0A"
/** Docker's own name server listens here in every container. */
const embeddedDns = "0B00007F"

/** The listening ports of a network namespace, from its `/proc/net/tcp` and `/proc/net/tcp6`. */
export function parseListeningPorts(tables: string): ListeningPort[] {
  const ports = new Map<number, ListeningPort>()
  for (const { port, isLocal } of parseTable(tables)) ports.set(port, { port, isLocal: isLocal && (ports.get(port)?.isLocal ?? true) })
  return [...ports.values()].sort((a, b) => a.port - b.port)
}

/**
 * Lines such as `0: 0100007F:1F40 00000000:0000 0A …`: numbers are hexadecimal, addresses in host
 * order.
 */
function parseTable(text: string): ListeningPort[] {
  return text.split("\n").flatMap((line) => {
    const match = /^\s*\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2}) /.exec(line)
    const [, address = "", port = "", state] = match ?? []
    if (state !== listening || address === embeddedDns) return []
    return [{ port: Number.parseInt(port, 16), isLocal: isLoopback(address) }]
  })
}

function isLoopback(address: string): boolean {
  if (address.length === 8) return address.endsWith("7F")
  return address === "00000000000000000000000001000000" || /^0{16}FFFF0000[0-9A-F]{6}7F$/.test(address)
}
