import { type EffectiveLimits, type Limits, limitNames, unlimited } from "#contract"
import type { GroupRow, Reads, UserRow } from "#store"
import type { GroupQuota } from "../admission/quotas.ts"

interface Readable {
  users: Pick<Reads["users"], "get">
  groups: Pick<Reads["groups"], "ofUser" | "members">
}

/** The effective limits of one person; memory and disk in MiB. */
export async function effectiveLimitsOf(reads: Readable, userId: number, defaults: EffectiveLimits): Promise<EffectiveLimits> {
  return (await loadLimits(reads, [userId], defaults)).limits.get(userId) ?? defaults
}

/** The limits of some people, and the quotas of their groups. */
export interface LoadedLimits {
  limits: ReadonlyMap<number, EffectiveLimits>
  quotas: readonly GroupQuota[]
  /** IDs of each person's groups. */
  groupIds: ReadonlyMap<number, readonly number[]>
}

export async function loadLimits(reads: Readable, userIds: Iterable<number>, defaults: EffectiveLimits): Promise<LoadedLimits> {
  const limits = new Map<number, EffectiveLimits>()
  const capped = new Map<number, GroupRow>()
  const groupIds = new Map<number, readonly number[]>()
  for (const userId of new Set(userIds)) {
    const [user, groups] = await Promise.all([reads.users.get(userId), reads.groups.ofUser(userId)])
    limits.set(userId, combineLimits(user, groups, defaults))
    groupIds.set(
      userId,
      groups.map(({ id }) => id),
    )
    for (const group of groups) if (limitNames.some((name) => typeof group.totalLimits[name] === "number")) capped.set(group.id, group)
  }
  const quotas: GroupQuota[] = []
  for (const { id, groupName, totalLimits } of capped.values()) {
    quotas.push({ groupName, limits: totalLimits, members: new Set(await reads.groups.members(id)) })
  }
  return { limits, quotas, groupIds }
}

/**
 * The lowest limit set for the person or one of their groups; the default without any.
 * Administrators have no defaults.
 */
function combineLimits(user: UserRow | undefined, groups: readonly GroupRow[], defaults: EffectiveLimits): EffectiveLimits {
  const given: Limits[] = [...(user ? [user.limits] : []), ...groups.map((group) => group.limits)]
  const result = { ...(user?.isAdmin ? unlimited : defaults) }
  for (const name of limitNames) {
    const set = given.map((limits) => limits[name]).filter((limit) => limit !== undefined)
    if (set.length === 0) continue
    const bounded = set.filter((limit) => limit !== null)
    result[name] = bounded.length === 0 ? null : Math.min(...bounded)
  }
  return result
}

/** The lowest limit that is set; null without any. */
export function lowestOf(limits: readonly (number | null | undefined)[]): number | null {
  const set = limits.filter((limit) => typeof limit === "number")
  return set.length === 0 ? null : Math.min(...set)
}

/**
 * MiB that one run of the person may write to its own file system: the lowest limit of the person
 * and their groups. Undefined is unlimited.
 */
export async function maxDiskMiBPerRun(reads: Readable, userId: number, defaults: EffectiveLimits): Promise<number | undefined> {
  const { limits, quotas } = await loadLimits(reads, [userId], defaults)
  const set = [limits.get(userId), ...quotas.map((quota) => quota.limits)].flatMap((bound) => bound?.MaxDisk ?? [])
  return set.length === 0 ? undefined : Math.min(...set)
}

/** The resources that the limits of the person and their groups still allow; null is unlimited. */
export async function remainingResourcesOf(reads: Readable & Pick<Reads, "runs">, userId: number, defaults: EffectiveLimits) {
  const { limits, quotas } = await loadLimits(reads, [userId], defaults)
  const own = await reads.runs.holdings(userId)
  const bounds: readonly Limits[] = [limits.get(userId) ?? defaults, ...quotas.map((quota) => quota.limits)]
  const left = (name: "MaxCpus" | "MaxMemory" | "MaxGpus", held: number) => {
    const set = bounds.map((bound) => bound[name] ?? null).filter((limit) => limit !== null)
    return set.length === 0 ? null : Math.max(0, Math.min(...set) - held)
  }
  return {
    cpus: left("MaxCpus", own.cpus),
    memoryMiB: left("MaxMemory", own.memoryMiB),
    gpus: left("MaxGpus", own.gpus),
  }
}
