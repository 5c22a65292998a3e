import { open, readFile } from "node:fs/promises"
import type { ListeningPort } from "../../engine.ts"

/** A program may have very many sockets; listening ones are usually first. */
const maxBytes = 256 * 1024
const listening = "0A"
/** Docker's own name server listens here in every container. */
const embeddedDns = "0B00007F"

/**
 * The TCP ports on which a container's programs listen, by the kernel's tables; undefined if they
 * cannot be read, or if the process belongs to another container by now.
 */
export async function listeningPorts({ id, pid }: { id: string; pid: number }, proc = "/proc"): Promise<ListeningPort[] | undefined> {
  try {
    if (pid === 0 || !(await readFile(`${proc}/${pid}/cgroup`, "latin1")).includes(id)) return undefined
    const tables = await Promise.all(["tcp", "tcp6"].map((name) => beginningOf(`${proc}/${pid}/net/${name}`)))
    const ports = new Map<number, ListeningPort>()
    for (const { port, isLocal } of tables.flatMap(parseTable))
      ports.set(port, { port, isLocal: isLocal && (ports.get(port)?.isLocal ?? true) })
    return [...ports.values()].sort((a, b) => a.port - b.port)
  } catch {
    return undefined
  }
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

/** A missing table means that the kernel has no IPv6. */
async function beginningOf(path: string): Promise<string> {
  const file = await open(path).catch(() => undefined)
  if (!file) return ""
  await using _ = file
  return (await Array.fromAsync(file.createReadStream({ end: maxBytes - 1, encoding: "latin1" }))).join("")
}
