import { readFileSync } from "node:fs"

/**
 * The maximum of open descriptors of this process; undefined if the system does not report it. Node
 * raises its soft limit to the hard one at its start.
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
  /** The configured maximum of all connections. */
  max: number
  /** The share of anonymous connections. */
  anonymousPercent: number
  /**
   * Descriptors that are reserved for the engine, the database, files and logs; a quarter of all
   * if that is less.
   */
  maxReserved: number
  /** Default: the process's. */
  descriptors?: number | undefined
}

/**
 * The maxima of connections. An authenticated one may need a second descriptor, for its connection
 * to a program.
 */
export function connectionLimits(options: DescriptorOptions): { maxAnonymous: number; maxAuthenticated: number } {
  const { max, anonymousPercent, maxReserved, descriptors = maxDescriptors() ?? Number.POSITIVE_INFINITY } = options
  const free = descriptors - Math.min(maxReserved, Math.ceil(descriptors / 4))
  const total = Math.max(8, Math.floor(Math.min(max, free / (2 - anonymousPercent / 100))))
  const maxAnonymous = Math.ceil((total * anonymousPercent) / 100)
  return { maxAnonymous, maxAuthenticated: total - maxAnonymous }
}
