import { type Limits, limitNames, noLimits } from "#contract"
import type { GroupRow, Reads } from "#store"
import type { Cap } from "./quota.ts"

type Readable = Pick<Reads, "users" | "groups">

/** The lowest of the person's own limits and those that their groups give each member; amounts of memory and disk in MiB. */
export async function limitsOf(reads: Readable, userId: number): Promise<Limits> {
  return (await boundsOf(reads, [userId])).limits.get(userId) ?? noLimits
}

/** What bounds some people: each one's own limits, and what groups of theirs may hold all together. */
export interface Bounds {
  limits: ReadonlyMap<number, Limits>
  caps: readonly Cap[]
}

export async function boundsOf(reads: Readable, userIds: Iterable<number>): Promise<Bounds> {
  const limits = new Map<number, Limits>()
  const capped = new Map<number, GroupRow>()
  for (const userId of new Set(userIds)) {
    const [user, groups] = await Promise.all([reads.users.get(userId), reads.groups.ofUser(userId)])
    limits.set(userId, lowest([...(user ? [user.limits] : []), ...groups.map((group) => group.limits)]))
    for (const group of groups) if (limitNames.some((name) => group.totalLimits[name] !== null)) capped.set(group.id, group)
  }
  const caps: Cap[] = []
  for (const { id, groupName, totalLimits } of capped.values()) {
    caps.push({ groupName, limits: totalLimits, members: new Set(await reads.groups.members(id)) })
  }
  return { limits, caps }
}

function lowest(all: readonly Limits[]): Limits {
  const result = { ...noLimits }
  for (const name of limitNames) {
    const set = all.map((limits) => limits[name]).filter((limit) => limit !== null)
    result[name] = set.length === 0 ? null : Math.min(...set)
  }
  return result
}
