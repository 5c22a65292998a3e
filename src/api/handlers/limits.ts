import { type Limits, limitNames, noLimits } from "#contract"
import type { Reads } from "#store"
import { fromMiB, type MemoryUnit, toMiB } from "../units.ts"

/** The lowest of the person's own limits and those that their groups give each member; amounts of memory in MiB. */
export async function limitsOf(reads: Pick<Reads, "users" | "groups">, userId: number): Promise<Limits> {
  const [user, groups] = await Promise.all([reads.users.get(userId), reads.groups.ofUser(userId)])
  const all = [...(user ? [user.limits] : []), ...groups.map((group) => group.limits)]
  const lowest = { ...noLimits }
  for (const name of limitNames) {
    const set = all.map((limits) => limits[name]).filter((limit) => limit !== null)
    lowest[name] = set.length === 0 ? null : Math.min(...set)
  }
  return lowest
}

/** Limits of a body, with memory in MiB. */
export function storedLimits(limits: Limits, unit: MemoryUnit, field: string): Limits {
  const stored = (amount: number | null) => (amount === null ? null : toMiB(amount, unit, field))
  return { ...limits, MaxMemory: stored(limits.MaxMemory), MaxDisk: stored(limits.MaxDisk) }
}

/** Limits as they are answered. */
export function answeredLimits(limits: Limits, unit: MemoryUnit): Limits {
  const answered = (amount: number | null) => (amount === null ? null : fromMiB(amount, unit))
  return { ...limits, MaxMemory: answered(limits.MaxMemory), MaxDisk: answered(limits.MaxDisk) }
}
