import { readFileSync } from "node:fs"
import type { Owner } from "./messages.ts"

/**
 * Gives up root for good: no groups, no capabilities, the owner's uid in all three places. Does nothing when this process is not root.
 *
 * A process that changes its uid itself, rather than being started with another, stays undumpable: others of the same uid can neither trace it nor read
 * its memory, in which people's passwords pass by.
 */
export function dropPrivileges(owner: Owner | undefined): void {
  process.umask(0o022)
  if (process.getuid?.() !== 0) return
  if (!owner || owner.uid === 0) throw new Error("The file server does not work as root: it needs the uid of the runs")
  process.setgroups?.([])
  process.setgid?.(owner.gid)
  process.setuid?.(owner.uid)
  assertDropped(owner)
}

function assertDropped({ uid, gid }: Owner): void {
  const status = readFileSync("/proc/self/status", "utf8")
  const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.*)$`, "m").exec(status)?.[1]?.trim() ?? "?"
  const dropped =
    field("Uid")
      .split(/\s+/)
      .every((one) => one === String(uid)) &&
    field("Gid")
      .split(/\s+/)
      .every((one) => one === String(gid)) &&
    field("Groups") === "" &&
    ["CapInh", "CapPrm", "CapEff", "CapAmb"].every((name) => /^0+$/.test(field(name)))
  if (!dropped) throw new Error("The file server could not give up its privileges")
}
