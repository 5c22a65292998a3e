import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { bounds } from "#contract"

const { neighbours, trackedConnections, processIds, watches } = bounds.containers

/** Each of the two for neighbours may not exceed the one before. */
const limits: Readonly<Record<string, number>> = {
  "net/ipv4/neigh/default/gc_thresh3": neighbours.value,
  "net/ipv4/neigh/default/gc_thresh2": neighbours.value / 2,
  "net/netfilter/nf_conntrack_max": trackedConnections.value,
  "kernel/pid_max": processIds.value,
  "kernel/threads-max": processIds.value,
  "fs/epoll/max_user_watches": watches.value,
  "fs/inotify/max_user_watches": watches.value,
  "fs/inotify/max_user_instances": watches.value,
}

/**
 * Raises limits of the kernel that all runs share, and that the runs of one person would reach.
 *
 * - Forty runs that look for each address of their networks fill a table of neighbours of the usual
 *   size, and then nobody reaches a new address.
 * - Thirty-two runs have as many connections as the kernel tracks.
 * - Sixteen runs have as many processes as there are process IDs by default, and thirty-one as
 *   many threads as a machine of 8 GiB may have. Then no program of the machine starts another.
 * - One run of 1.2 GiB watches as many descriptors as all programs of its user may together; then
 *   theirs, and the file server, fail. The memory of watches counts as the run's.
 *
 * Tries all, and rejects if one of them is not allowed.
 */
export async function raiseKernelLimits(directory = "/proc/sys"): Promise<void> {
  const errors: unknown[] = []
  for (const [name, value] of Object.entries(limits)) {
    await raise(join(directory, name), value).catch((error: unknown) => errors.push(error))
  }
  if (errors.length > 0) throw new AggregateError(errors, errors.map(String).join("; "))
}

async function raise(path: string, value: number): Promise<void> {
  if (Number(await readFile(path, "utf8")) < value) await writeFile(path, String(value))
}
