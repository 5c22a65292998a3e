import { readFileSync } from "node:fs"
import type { FileOwner } from "./messages.ts"

/**
 * `first` begins a range that no account or container manager assigns (see systemd's
 * `UIDS-GIDS`). `inNamespace` is for user namespaces, which map 65,536 user IDs.
 */
const spareUids = { first: 1_900_000_000, inNamespace: 65_530 }

/**
 * Drops root for good: no groups, no capabilities, and the owner's uid for all file operations.
 * Does nothing when this process is not root. Returns the protections that this machine lacks, as
 * texts for the log.
 *
 * The kernel lets a process signal another one if its uid is the other's real or saved uid. These
 * two become a uid that nobody uses. Only the effective uid, which opens files, is the owner's.
 * The process loads its code as root and changes its uids itself, so it stays undumpable. Then no
 * process of the same uid can trace it or read passwords from its memory.
 */
export async function dropPrivileges(owner: FileOwner | undefined): Promise<string[]> {
  process.umask(0o022)
  if (process.getuid?.() !== 0) return missingProtections(undefined)
  if (!owner || owner.uid === 0) throw new Error("The file server does not work as root: it needs the uid of the runs")
  process.setgroups?.([])
  process.setgid?.(owner.gid)
  if (!(await setUids(owner.uid))) process.setuid?.(owner.uid)
  assertDropped(owner)
  return missingProtections(owner)
}

/**
 * Node sets either all three uids or only the effective one, so this calls the C library. False if
 * that is impossible.
 */
async function setUids(uid: number): Promise<boolean> {
  try {
    const { dlopen } = await import("node:ffi")
    const { functions } = dlopen(null, {
      setresuid: { return: "int32", arguments: ["uint32", "uint32", "uint32"] },
    })
    const spare = [spareUids.first + (uid % 65_536), spareUids.inNamespace]
    return spare.some((one) => one !== uid && functions.setresuid(one, uid, one) === 0)
  } catch {
    return false
  }
}

function assertDropped({ uid, gid }: FileOwner): void {
  const [real, effective, saved, ofFiles] = idsOf("Uid")
  const isSpare = real !== undefined && real >= spareUids.inNamespace && real === saved
  const dropped =
    (isSpare || (real === uid && saved === uid)) &&
    effective === uid &&
    ofFiles === uid &&
    idsOf("Gid").every((one) => one === gid) &&
    status("Groups") === "" &&
    ["CapInh", "CapPrm", "CapEff", "CapAmb"].every((name) => /^0+$/.test(status(name)))
  if (!dropped) throw new Error("The file server could not drop its privileges")
}

function missingProtections(owner: FileOwner | undefined): string[] {
  const all: string[] = []
  if (status("NoNewPrivs") !== "1") all.push("it may gain privileges by running a program: setpriv (util-linux) is not installed")
  if (owner && idsOf("Uid")[0] === owner.uid)
    all.push(`processes of uid ${owner.uid} on this machine can signal it: Node.js cannot call setresuid here`)
  return all
}

const idsOf = (field: "Uid" | "Gid"): number[] => status(field).split(/\s+/).map(Number)

function status(field: string): string {
  const text = readFileSync("/proc/self/status", "utf8")
  return new RegExp(`^${field}:[ \\t]*(.*)$`, "m").exec(text)?.[1]?.trim() ?? "?"
}
