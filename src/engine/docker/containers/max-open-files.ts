import { readFileSync } from "node:fs"
import { bounds } from "#contract"

/**
 * Enough for programs that keep thousands of files open, and so few that closing each possible one
 * takes no time.
 */
const enough = bounds.containers.openFiles.value

/**
 * The bound on a run's open files: never above this process's own, since a daemon beside it,
 * without the right to raise its bound, refuses containers that are to have a higher one.
 */
export function maxOpenFiles(limits: string = readFileSync("/proc/self/limits", "utf8")): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1]
  return Math.min(enough, /^\d+$/.test(hard ?? "") ? Number(hard) : enough)
}
