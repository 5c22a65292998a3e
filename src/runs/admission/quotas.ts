import type { Reason } from "#contract"
import type { Limits, RunRow, UserRunTotals } from "#store"
import type { ResourceRequest } from "./resource-request.ts"

/**
 * Limits with amounts. Disk and storage count while a run is live, not at admission. Null or absent
 * is unlimited.
 */
export type RunLimits = Partial<
  Pick<Limits, "MaxRuns" | "MaxCpus" | "MaxMemory" | "MaxGpus" | "MaxDisk" | "MaxStorage" | "MaxQueued" | "MaxObjects">
>

/** A limit on what all members of a group hold together. */
export interface GroupQuota {
  groupName: string
  limits: RunLimits
  /** Their user names. */
  members: ReadonlySet<string>
}

/**
 * The reason why the limits of the person, or of one of their groups, forbid one more run beside
 * their live and queued ones; undefined when they allow it.
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
    const exceeded = exceededLimit(demand, own, bound.limits)
    if (exceeded)
      return {
        code: "quota_exceeded",
        msg: `${bound.whose} is ${exceeded.limit} ${exceeded.what}; with this run it would be ${exceeded.wanted}`,
      }
  }
  return undefined
}

/**
 * The reason why the person may not have one more queued run, by their own limit or a group's.
 * `all` is the whole queue.
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
  const exceeded = bounds.find(({ limit, queued }) => typeof limit === "number" && queued >= limit)
  return (
    exceeded && {
      code: "quota_exceeded",
      msg: `${exceeded.whose} is ${exceeded.limit} queued runs, and ${exceeded.queued} wait already; wait until one starts, or stop one`,
    }
  )
}

/** Whether the group's quota forbids one more run beside those that hold resources. */
export function exceedsQuota(
  demand: ResourceRequest,
  holding: readonly (ResourceRequest & Pick<RunRow, "userName">)[],
  { limits, members }: GroupQuota,
): boolean {
  const held = sumResources(holding.filter(({ userName }) => members.has(userName)))
  return exceededLimit(demand, held, limits) !== undefined
}

type ResourceTotals = Omit<UserRunTotals, "queued">

export function sumResources(runs: readonly ResourceRequest[]): ResourceTotals {
  const total = { runs: 0, cpus: 0, memoryMiB: 0, gpus: 0 }
  for (const run of runs) add(total, run)
  return total
}

function add(total: ResourceTotals, run: ResourceRequest): void {
  total.runs += 1
  total.cpus += run.nodes * run.cpus
  total.memoryMiB += run.nodes * run.memoryMiB
  total.gpus += run.nodes * run.gpus
}

/** The first limit that one more run would exceed. */
function exceededLimit(demand: ResourceRequest, held: ResourceTotals, limits: RunLimits) {
  const checks: { limit: number | null | undefined; wanted: number; what: string }[] = [
    { limit: limits.MaxRuns, wanted: held.runs + 1, what: "runs at once" },
    { limit: limits.MaxCpus, wanted: held.cpus + demand.nodes * demand.cpus, what: "CPUs" },
    { limit: limits.MaxMemory, wanted: held.memoryMiB + demand.nodes * demand.memoryMiB, what: "MiB of memory" },
    { limit: limits.MaxGpus, wanted: held.gpus + demand.nodes * demand.gpus, what: "GPUs" },
  ]
  return checks.find(({ limit, wanted }) => typeof limit === "number" && wanted > limit)
}

type LiveRun = ResourceRequest & Pick<RunRow, "userName" | "state">

/** The usage of each group's quota. */
export class GroupUsage {
  readonly #shares: { quota: GroupQuota; held: ResourceTotals }[]

  constructor({ live, quotas = [] }: { live: readonly LiveRun[]; quotas?: readonly GroupQuota[] }) {
    const holders = live.filter(({ state }) => state !== "queued")
    this.#shares = quotas.map((quota) => ({ quota, held: sumResources(holders.filter(({ userName }) => quota.members.has(userName))) }))
  }

  /** Adds the run to the usage of its groups, and returns whether it fits. */
  reserve(run: ResourceRequest & Pick<RunRow, "userName">): boolean {
    const own = this.#shares.filter(({ quota }) => quota.members.has(run.userName))
    const fits = own.every(({ quota, held }) => !exceededLimit(run, held, quota.limits))
    for (const share of own) add(share.held, run)
    return fits
  }
}
