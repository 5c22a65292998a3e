import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { bounds } from "#contract"

const { neighbours } = bounds.containers
/** The larger one first: the other one may not exceed it. */
const limits = { gc_thresh3: neighbours.value, gc_thresh2: neighbours.value / 2 }

/**
 * Raises the kernel's limits on its table of neighbours, which all networks of the machine share. A
 * run may look for each address of its own network, so some forty runs fill a table of the usual
 * size, and then nobody reaches a new address. Rejects if that is not allowed.
 */
export async function raiseNeighbourLimits(directory = "/proc/sys/net/ipv4/neigh/default"): Promise<void> {
  for (const [name, value] of Object.entries(limits)) {
    const path = join(directory, name)
    if (Number(await readFile(path, "utf8")) < value) await writeFile(path, String(value))
  }
}
