import { release } from "node:os"

/** Since which version of Linux rules can look at all groups of a process. */
const matchedSince = [5, 4]

/**
 * Makes this process a member of a group, in addition to its others. Undefined where it may not be,
 * or where rules could not tell.
 */
export function joinGroup(gid: number): number | undefined {
  if (!process.setgroups || !process.getgroups || !isMatched()) return undefined
  const groups = process.getgroups()
  if (groups.includes(gid)) return gid
  try {
    process.setgroups([...groups, gid])
  } catch {
    return undefined
  }
  return gid
}

function isMatched(version = release()): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const [wantedMajor = 0, wantedMinor = 0] = matchedSince
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
}
