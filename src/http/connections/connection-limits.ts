import { readFileSync } from "node:fs"
import { bounds } from "#contract"

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

/** The configured maxima of connections. */
export interface ConnectionSettings {
  max: number
  maxPerAddress: number
  maxPerPerson: number
}

/** The maxima of connections, anonymous and authenticated ones apart. */
export interface ConnectionLimits extends Omit<ConnectionSettings, "max"> {
  maxAnonymous: number
  maxAuthenticated: number
}

/**
 * The maxima that the process's descriptors allow. Some are reserved for the engine, the database,
 * files and logs: a quarter at most. An authenticated connection may need a second descriptor, for
 * its connection to a program.
 */
export function connectionLimits(
  { max, ...perClient }: ConnectionSettings,
  descriptors = maxDescriptors() ?? Number.POSITIVE_INFINITY,
): ConnectionLimits {
  const { reservedDescriptors, anonymousConnectionPercent } = bounds.http
  const anonymousPercent = anonymousConnectionPercent.value
  const free = descriptors - Math.min(reservedDescriptors.value, Math.ceil(descriptors / 4))
  const total = Math.max(8, Math.floor(Math.min(max, free / (2 - anonymousPercent / 100))))
  const maxAnonymous = Math.ceil((total * anonymousPercent) / 100)
  return { maxAnonymous, maxAuthenticated: total - maxAnonymous, ...perClient }
}
