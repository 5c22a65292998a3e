import { release } from "node:os"

/** The first Linux version whose rules can match all groups of a process. */
const firstVersion = [5, 4]

/**
 * Adds a group to this process's groups. Undefined if that is not permitted, or if rules could not
 * match it.
 */
export function joinUnixGroup(gid: number): number | undefined {
  if (!process.setgroups || !process.getgroups || !supportsGroupMatch()) return undefined
  const groups = process.getgroups()
  if (groups.includes(gid)) return gid
  try {
    process.setgroups([...groups, gid])
  } catch {
    return undefined
  }
  return gid
}

function supportsGroupMatch(version = release()): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const [wantedMajor = 0, wantedMinor = 0] = firstVersion
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
}
