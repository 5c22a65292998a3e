import { open, readFile } from "node:fs/promises"
import { parseListeningPorts } from "../../containers/listening-ports.ts"
import type { ListeningPort } from "../../engine.ts"

/** A program may have very many sockets; listening ones are usually first. */
const maxBytes = 256 * 1024

/**
 * The TCP ports on which a container's programs listen, by the kernel's tables; undefined if they
 * cannot be read, or if the process belongs to another container by now.
 */
export async function listeningPorts({ id, pid }: { id: string; pid: number }, proc = "/proc"): Promise<ListeningPort[] | undefined> {
  try {
    if (pid === 0 || !(await readFile(`${proc}/${pid}/cgroup`, "latin1")).includes(id)) return undefined
    const tables = await Promise.all(["tcp", "tcp6"].map((name) => beginningOf(`${proc}/${pid}/net/${name}`)))
    return parseListeningPorts(tables.join("\n"))
  } catch {
    return undefined
  }
}

/** A missing table means that the kernel has no IPv6. */
async function beginningOf(path: string): Promise<string> {
  const file = await open(path).catch(() => undefined)
  if (!file) return ""
  await using _ = file
  return (await Array.fromAsync(file.createReadStream({ end: maxBytes - 1, encoding: "latin1" }))).join("")
}
