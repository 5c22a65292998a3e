import { readFile } from "node:fs/promises"
import { isIPv4 } from "node:net"

/**
 * systemd-resolved lists the servers behind its loopback address in the second file; the container
 * engine reads it as well.
 */
const files = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"]

/**
 * The host's name servers, which runs query through their engine. Servers on loopback are omitted:
 * the engine queries those itself.
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
