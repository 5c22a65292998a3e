import { readFileSync } from "node:fs"
import { bounds } from "#contract"

/**
 * Enough for programs with thousands of open files, and few enough that closing every possible one
 * takes no time.
 */
const sufficient = bounds.containers.openFiles.value

/**
 * The limit on a run's open files. It never exceeds this process's own: a daemon without the right
 * to raise its limit rejects containers with a higher one.
 */
export function maxOpenFiles(limits: string = readFileSync("/proc/self/limits", "utf8")): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1]
  return Math.min(sufficient, /^\d+$/.test(hard ?? "") ? Number(hard) : sufficient)
}
