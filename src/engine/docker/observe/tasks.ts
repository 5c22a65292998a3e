import { readdirSync, readFileSync } from "node:fs"

/**
 * The tasks whose descriptors are all that a process has: itself, or its threads if the first one
 * ended while the others go on. Threads share theirs, since seccomp allows no others.
 */
export function tasksWithDescriptors(processId: string): string[] {
  return hasEnded(processId) ? threadsOf(processId) : [processId]
}

function hasEnded(processId: string): boolean {
  try {
    const text = readFileSync(`/proc/${processId}/stat`, "latin1")
    // The name may contain spaces and parentheses.
    return text.startsWith("Z", text.lastIndexOf(")") + 2)
  } catch {
    return false
  }
}

function threadsOf(processId: string): string[] {
  try {
    return readdirSync(`/proc/${processId}/task`)
  } catch {
    return []
  }
}
