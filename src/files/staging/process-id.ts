import { createHash, randomBytes } from "node:crypto"
import { existsSync, readFileSync, readlinkSync } from "node:fs"

/**
 * Names this process among all that share the files root: boot and process namespace, process, its
 * start, and something random.
 */
export function createProcessId(): string {
  return [domain(), process.pid, startOf(process.pid), randomBytes(4).toString("hex")].join("-")
}

/**
 * Whether that process certainly ended. False also means "cannot be told", as for one on another
 * machine.
 */
export function hasProcessEnded(id: string): boolean {
  const [where, pid, start] = id.split("-")
  if (where !== domain() || !seesOthers()) return false
  return startOf(Number(pid)) !== start
}

/** Within one boot and one process namespace process ids mean the same. */
function domain(): string {
  known ??= createHash("sha256")
    .update(`${readFileSync("/proc/sys/kernel/random/boot_id", "utf8")} ${readlinkSync("/proc/self/ns/pid")}`)
    .digest("hex")
    .slice(0, 12)
  return known
}
let known: string | undefined

/**
 * Where /proc is mounted so that other people's processes are hidden (`hidepid`), absence proves
 * nothing.
 */
function seesOthers(): boolean {
  return existsSync("/proc/1/stat")
}

/**
 * The start time in clock ticks since boot: a process id that comes again has another. Empty when
 * there is no such process.
 */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
  } catch {
    return ""
  }
}
