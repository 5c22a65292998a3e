import type { StorageQuota } from "./storage-meter.ts"

const mib = 2 ** 20
/**
 * Growth beyond a limit that ends no run yet: logs, histories, and the files that deleting needs.
 */
export const toleratedBytes = mib

/** A limit of a person or a group on what is stored, in bytes. */
export interface Bound {
  whose: string
  limit: number
  used: number
}

export function boundsOf(name: string, { maxBytes, groups, counted }: StorageQuota): Bound[] {
  const own = maxBytes === null ? [] : [{ whose: `${name} may store`, limit: maxBytes, used: counted[name] ?? 0 }]
  return [
    ...own,
    ...groups.map((group) => ({
      whose: `All members of ${group.groupName} together may store`,
      limit: group.maxBytes,
      used: group.members.reduce((sum, member) => sum + (counted[member] ?? 0), 0),
    })),
  ]
}

export function mibText(bytes: number): string {
  return `${Math.round(bytes / mib)} MiB`
}
