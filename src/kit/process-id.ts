import { createHash, randomBytes } from "node:crypto"
import { existsSync, readFileSync, readlinkSync } from "node:fs"

/**
 * Identifies a process among all that share a directory: boot and process namespace, process ID,
 * start time, and a random part. Default: this process.
 */
export function createProcessId(pid = process.pid): string {
  return [domain(), pid, startOf(pid), randomBytes(4).toString("hex")].join("-")
}

/**
 * Whether that process certainly ended. False also means unknown, as for one on another machine.
 */
export function hasProcessEnded(id: string): boolean {
  const [where, pid, start] = id.split("-")
  if (where !== domain() || !seesOthers()) return false
  return startOf(Number(pid)) !== start
}

/** A process ID is unique within one boot and one process namespace. */
function domain(): string {
  known ??= createHash("sha256")
    .update(`${readFileSync("/proc/sys/kernel/random/boot_id", "utf8")} ${readlinkSync("/proc/self/ns/pid")}`)
    .digest("hex")
    .slice(0, 12)
  return known
}
let known: string | undefined

/**
 * Whether /proc shows the processes of other users. With `hidepid` it does not, and absence proves
 * nothing.
 */
function seesOthers(): boolean {
  return existsSync("/proc/1/stat")
}

/**
 * The start time in clock ticks since boot, which tells apart two uses of one process ID. Empty
 * when there is no such process.
 */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
  } catch {
    return ""
  }
}
