import { readFile } from "node:fs/promises"
import { isIPv4 } from "node:net"

/**
 * Where systemd-resolved keeps the servers behind its own loopback address; the container engine
 * looks there as well.
 */
const files = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"]

/**
 * The host's name servers, which runs ask by way of their engine. One on a loopback address is
 * asked by the engine itself and is not answered here.
 */
export async function nameServers(): Promise<string[]> {
  for (const file of files) {
    const servers = serversOf(await readFile(file, "utf8").catch(() => ""))
    if (servers.some((server) => !server.startsWith("127."))) return servers.filter((server) => !server.startsWith("127."))
  }
  return []
}

function serversOf(text: string): string[] {
  const listed = text.split("\n").map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? "")
  return [...new Set(listed.filter((server) => isIPv4(server)))]
}
