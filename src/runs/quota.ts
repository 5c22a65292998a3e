import type { Reason } from "#contract"
import type { Limits, RunRow } from "#store"
import type { Demand, Hall } from "./admission.ts"

/** The amounts among the limits; disk and storage do not count when a run is admitted, but while it runs. Null or absent is unlimited. */
export type RunLimits = Partial<Pick<Limits, "MaxRuns" | "MaxCpus" | "MaxMemory" | "MaxGpus" | "MaxDisk" | "MaxStorage">>

/** What the members of a group may hold all together. */
export interface Cap {
  groupName: string
  limits: RunLimits
  /** Their user names. */
  members: ReadonlySet<string>
}

/** Why the person's own limits, or those of a group of theirs even with nobody else in it, forbid one run more beside those they have, queued ones included; undefined when they do not. */
export function overLimit(
  demand: Demand,
  own: readonly Demand[],
  { limits, caps }: { limits: RunLimits; caps: readonly Cap[] },
): Reason | undefined {
  const bounds = [
    { whose: "The person's limit", limits },
    ...caps.map((cap) => ({ whose: `The limit of all members of ${cap.groupName} together`, limits: cap.limits })),
  ]
  for (const bound of bounds) {
    const broken = exceeded(demand, own, bound.limits)
    if (broken)
      return { code: "quota_exceeded", msg: `${bound.whose} is ${broken.limit} ${broken.what}; with this run it would be ${broken.wanted}` }
  }
  return undefined
}

/** The first amount of which the runs and one more would hold more than allowed. */
function exceeded(demand: Demand, held: readonly Demand[], limits: RunLimits) {
  const sum = (amount: (run: Demand) => number) => held.reduce((total, run) => total + amount(run), amount(demand))
  const checks: { limit: number | null | undefined; wanted: number; what: string }[] = [
    { limit: limits.MaxRuns, wanted: held.length + 1, what: "runs at once" },
    { limit: limits.MaxCpus, wanted: sum((run) => run.cpus), what: "CPUs" },
    { limit: limits.MaxMemory, wanted: sum((run) => run.memoryMiB), what: "MiB of memory" },
    { limit: limits.MaxGpus, wanted: sum((run) => run.gpus), what: "GPUs" },
  ]
  return checks.find(({ limit, wanted }) => typeof limit === "number" && wanted > limit)
}

/** What is held of each group's limit. */
export class Shares {
  readonly #shares: { cap: Cap; held: Demand[] }[]

  constructor({ live, caps = [] }: Pick<Hall, "live" | "caps">) {
    const holders = live.filter(({ state }) => state !== "queued")
    this.#shares = caps.map((cap) => ({ cap, held: holders.filter(({ userName }) => cap.members.has(userName)) }))
  }

  /** Whether the groups' limits have room for it; counted as held from now on, in either case. */
  take(run: Demand & Pick<RunRow, "userName">): boolean {
    const own = this.#shares.filter(({ cap }) => cap.members.has(run.userName))
    const fits = own.every(({ cap, held }) => !exceeded(run, held, cap.limits))
    for (const share of own) share.held.push(run)
    return fits
  }
}
