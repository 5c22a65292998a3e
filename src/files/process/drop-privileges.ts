import { readFileSync } from "node:fs"
import type { FileOwner } from "./messages.ts"

/**
 * The first user ID of a range that no account or container manager hands out (see systemd's
 * `UIDS-GIDS`), and one for user namespaces, which map 65,536 of them.
 */
const spareUids = { first: 1_900_000_000, inNamespace: 65_530 }

/**
 * Gives up root for good: no groups, no capabilities, the owner's uid for all work on files. Does
 * nothing when this process is not root. Returns the protections that this machine does not have,
 * in words for the log.
 *
 * The kernel lets a process signal another one if its uid is the other's real or saved one. These
 * two become a uid that nobody has; only the effective one, which files are opened with, is the
 * owner's. The process changes its uids itself rather than being started with others: it loads its
 * code as root, and it stays undumpable, so that nobody of the same uid can trace it or read its
 * memory, in which people's passwords pass by.
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
 * Node sets all three uids or the effective one alone, so the C library is called. False where it
 * cannot be.
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
  if (!dropped) throw new Error("The file server could not give up its privileges")
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
