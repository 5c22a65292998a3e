import { readFile, stat } from "node:fs/promises"

/**
 * The directory of the host that has what a container wrote to its own file system. Undefined if it
 * is not visible from here, or if the storage driver has none.
 */
export async function upperDirectory({ id, pid }: { id: string; pid: number }): Promise<string | undefined> {
  if (pid === 0) return undefined
  try {
    const [mounts, cgroup] = await Promise.all(["mountinfo", "cgroup"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8")))
    // The process ID may belong to another container by now.
    const upper = cgroup?.includes(id) ? upperOfRoot(mounts ?? "") : undefined
    // The path is one of the daemon's: another container or user may see the process and not it.
    return upper !== undefined && (await stat(upper)).isDirectory() ? upper : undefined
  } catch {
    return undefined
  }
}

/** Reads the options of the file system that is mounted at `/`. */
export function upperOfRoot(mounts: string): string | undefined {
  const root = mounts.split("\n").find((line) => line.split(" ", 5)[4] === "/")
  return /[ ,]upperdir=([^,\\]+)(,|$)/.exec(root ?? "")?.[1]
}
