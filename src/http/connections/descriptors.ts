import { readFileSync } from "node:fs"

/**
 * How many descriptors this process may have open; undefined where the system does not tell. Node
 * raises its own soft limit to the hard one as it starts.
 */
export function maxDescriptors(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

export interface DescriptorOptions {
  /** Connections that are wanted in all. */
  max: number
  /** Of all connections those that have proved nobody. */
  anonymousPercent: number
  /**
   * Descriptors that are kept back for all else: the engine, the database, files and logs. A
   * quarter of all is enough.
   */
  maxReserved: number
  /** Default: the process's. */
  descriptors?: number | undefined
}

/**
 * How many connections there may be. One that proved somebody may need a second descriptor, for
 * what it is joined to.
 */
export function connectionLimits(options: DescriptorOptions): { maxAnonymous: number; maxAuthenticated: number } {
  const { max, anonymousPercent, maxReserved, descriptors = maxDescriptors() ?? Number.POSITIVE_INFINITY } = options
  const free = descriptors - Math.min(maxReserved, Math.ceil(descriptors / 4))
  const total = Math.max(8, Math.floor(Math.min(max, free / (2 - anonymousPercent / 100))))
  const maxAnonymous = Math.ceil((total * anonymousPercent) / 100)
  return { maxAnonymous, maxAuthenticated: total - maxAnonymous }
}
