import { type Limits, limitNames, noLimits } from "#contract"
import type { GroupRow, Reads, RunRow } from "#store"
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
    for (const group of groups) if (limitNames.some((name) => (group.totalLimits[name] ?? null) !== null)) capped.set(group.id, group)
  }
  const caps: Cap[] = []
  for (const { id, groupName, totalLimits } of capped.values()) {
    caps.push({ groupName, limits: totalLimits, members: new Set(await reads.groups.members(id)) })
  }
  return { limits, caps }
}

/** MiB that one run of the person's may write to its own file system: all that they, or a group of theirs all together, may write to those of all their runs. Undefined is unlimited. */
export async function diskBoundOf(reads: Readable, userId: number): Promise<number | undefined> {
  const { limits, caps } = await boundsOf(reads, [userId])
  const set = [limits.get(userId), ...caps.map((cap) => cap.limits)].flatMap((bound) => bound?.MaxDisk ?? [])
  return set.length === 0 ? undefined : Math.min(...set)
}

/** What the person may still take beside their own runs, where a limit of theirs or of a group of theirs says so; null is unlimited. */
export async function leftTo(reads: Readable & Pick<Reads, "runs">, userId: number) {
  const { limits, caps } = await boundsOf(reads, [userId])
  const own = (await reads.runs.live()).filter((run) => run.userId === userId)
  const bounds = [limits.get(userId) ?? noLimits, ...caps.map((cap) => cap.limits)]
  const left = (name: "MaxCpus" | "MaxMemory" | "MaxGpus", taken: (run: RunRow) => number) => {
    const set = bounds.map((bound) => bound[name] ?? null).filter((limit) => limit !== null)
    const held = own.reduce((sum, run) => sum + taken(run), 0)
    return set.length === 0 ? null : Math.max(0, Math.min(...set) - held)
  }
  return {
    cpus: left("MaxCpus", (run) => run.cpus),
    memoryMiB: left("MaxMemory", (run) => run.memoryMiB),
    gpus: left("MaxGpus", (run) => run.gpus),
  }
}

function lowest(all: readonly Limits[]): Limits {
  const result = { ...noLimits }
  for (const name of limitNames) {
    // A row that was written before the limit existed lacks it.
    const set = all.map((limits) => limits[name] ?? null).filter((limit) => limit !== null)
    result[name] = set.length === 0 ? null : Math.min(...set)
  }
  return result
}
