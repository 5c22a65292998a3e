import type { Reason } from "#contract"
import type { Holdings, Limits, RunRow } from "#store"
import type { ResourceRequest } from "./resource-request.ts"

/**
 * The amounts among the limits; disk and storage do not count when a run is admitted, but while it
 * runs. Null or absent is unlimited.
 */
export type RunLimits = Partial<
  Pick<Limits, "MaxRuns" | "MaxCpus" | "MaxMemory" | "MaxGpus" | "MaxDisk" | "MaxStorage" | "MaxQueued" | "MaxObjects">
>

/** What the members of a group may hold all together. */
export interface GroupQuota {
  groupName: string
  limits: RunLimits
  /** Their user names. */
  members: ReadonlySet<string>
}

/**
 * Why the person's own limits, or those of a group of theirs even with nobody else in it, forbid
 * one run more beside those they have, queued ones included; undefined when they do not.
 */
export function limitRefusal(
  demand: ResourceRequest,
  own: ResourceTotals,
  { limits, quotas }: { limits: RunLimits; quotas: readonly GroupQuota[] },
): Reason | undefined {
  const bounds = [
    { whose: "The person's limit", limits },
    ...quotas.map((quota) => ({ whose: `The limit of all members of ${quota.groupName} together`, limits: quota.limits })),
  ]
  for (const bound of bounds) {
    const broken = exceededLimit(demand, own, bound.limits)
    if (broken)
      return { code: "quota_exceeded", msg: `${bound.whose} is ${broken.limit} ${broken.what}; with this run it would be ${broken.wanted}` }
  }
  return undefined
}

/**
 * Why the person may not have one more queued run: their own limit, or one of all members of a
 * group of theirs. `all` is the whole queue.
 */
export function queueLimitRefusal(
  own: number,
  { limits, quotas, all }: { limits: RunLimits; quotas: readonly GroupQuota[]; all: readonly Pick<RunRow, "userName">[] },
): Reason | undefined {
  const bounds = [
    { whose: "The person's limit", limit: limits.MaxQueued, queued: own },
    ...quotas.map(({ groupName, limits: { MaxQueued }, members }) => ({
      whose: `The limit of all members of ${groupName} together`,
      limit: MaxQueued,
      queued: typeof MaxQueued === "number" ? all.filter(({ userName }) => members.has(userName)).length : 0,
    })),
  ]
  const broken = bounds.find(({ limit, queued }) => typeof limit === "number" && queued >= limit)
  return (
    broken && {
      code: "quota_exceeded",
      msg: `${broken.whose} is ${broken.limit} queued runs, and ${broken.queued} wait already; wait until one starts, or stop one`,
    }
  )
}

type ResourceTotals = Omit<Holdings, "queued">

export function sumResources(runs: readonly ResourceRequest[]): ResourceTotals {
  const total = { runs: 0, cpus: 0, memoryMiB: 0, gpus: 0 }
  for (const run of runs) add(total, run)
  return total
}

function add(total: ResourceTotals, run: ResourceRequest): void {
  total.runs += 1
  total.cpus += run.cpus
  total.memoryMiB += run.memoryMiB
  total.gpus += run.gpus
}

/** The first amount of which the runs and one more would hold more than allowed. */
function exceededLimit(demand: ResourceRequest, held: ResourceTotals, limits: RunLimits) {
  const checks: { limit: number | null | undefined; wanted: number; what: string }[] = [
    { limit: limits.MaxRuns, wanted: held.runs + 1, what: "runs at once" },
    { limit: limits.MaxCpus, wanted: held.cpus + demand.cpus, what: "CPUs" },
    { limit: limits.MaxMemory, wanted: held.memoryMiB + demand.memoryMiB, what: "MiB of memory" },
    { limit: limits.MaxGpus, wanted: held.gpus + demand.gpus, what: "GPUs" },
  ]
  return checks.find(({ limit, wanted }) => typeof limit === "number" && wanted > limit)
}

type LiveRun = ResourceRequest & Pick<RunRow, "userName" | "state">

/** What is held of each group's limit. */
export class GroupUsage {
  readonly #shares: { quota: GroupQuota; held: ResourceTotals }[]

  constructor({ live, quotas = [] }: { live: readonly LiveRun[]; quotas?: readonly GroupQuota[] }) {
    const holders = live.filter(({ state }) => state !== "queued")
    this.#shares = quotas.map((quota) => ({ quota, held: sumResources(holders.filter(({ userName }) => quota.members.has(userName))) }))
  }

  /** Whether the groups' limits have room for it; counted as held from now on, in either case. */
  reserve(run: ResourceRequest & Pick<RunRow, "userName">): boolean {
    const own = this.#shares.filter(({ quota }) => quota.members.has(run.userName))
    const fits = own.every(({ quota, held }) => !exceededLimit(run, held, quota.limits))
    for (const share of own) add(share.held, run)
    return fits
  }
}
