import { type Group, type LimitName, type Limits, limitNames, type RunningProject, type User } from "#contract"
import { formatCpus, formatMemory, memoryFromGiB, memoryToGiB } from "../../api/formats.ts"
import { apiQuery } from "../../api/queries.ts"
import { adminTexts } from "../../text/administration.ts"

/** How a limit is set: by nobody, to none, or to an amount. */
export type LimitChoice = "default" | "unlimited" | "amount"

/** Limits in the unit of memory; forms ask for them in GiB. */
const memoryLimits: readonly LimitName[] = ["MaxMemory", "MaxDisk", "MaxStorage"]
const times: readonly LimitName[] = ["MaxRunHours", "IdleMinutes"]

/** The limits that can apply to all members of a group together. */
export const totalLimitNames: readonly LimitName[] = limitNames.filter((name) => !times.includes(name))

export function choiceOf(limit: number | null | undefined): LimitChoice {
  if (limit === undefined) return "default"
  return limit === null ? "unlimited" : "amount"
}

/** The limits after another choice for one of them. */
export function withLimit(limits: Limits, name: LimitName, limit: number | null | undefined): Limits {
  const { [name]: _before, ...others } = limits
  return limit === undefined ? others : { ...others, [name]: limit }
}

export function toFormAmount(name: LimitName, limit: number): number {
  return memoryLimits.includes(name) ? memoryToGiB(limit) : limit
}

/** Whether the form shows the amount in GiB, also with fractions. */
export function isDecimal(name: LimitName): boolean {
  return memoryLimits.includes(name)
}

export function fromFormAmount(name: LimitName, amount: number): number {
  return isDecimal(name) ? memoryFromGiB(amount) : Math.round(amount)
}

export function formatLimit(name: LimitName, limit: number | null): string {
  if (limit === null) return adminTexts.people.unlimited
  if (memoryLimits.includes(name)) return formatMemory(limit)
  if (name === "MaxRunHours") return adminTexts.people.hours(limit)
  if (name === "IdleMinutes") return adminTexts.people.minutes(limit)
  return limit.toLocaleString("en")
}

/** The limits that are set, in a few words. */
export function summarizeLimits(limits: Limits): string {
  return limitNames
    .flatMap((name) => {
      const limit = limits[name]
      return limit === undefined ? [] : [`${adminTexts.people.limitNames[name]}: ${formatLimit(name, limit)}`]
    })
    .join(", ")
}

/** The limit of a person for whom nobody set one; administrators have none. */
export function defaultLimitText(name: LimitName, { IsAdmin }: Pick<User, "IsAdmin">, defaults: Limits | undefined): string | undefined {
  if (IsAdmin) return formatLimit(name, null)
  const limit = defaults?.[name]
  return limit === undefined ? undefined : formatLimit(name, limit)
}

export interface LimitInForce {
  /** Undefined: the installation's default. */
  limit: number | null | undefined
  /** The group that sets it; empty: the person's own. */
  group: string
}

/** The lowest limit of the person and their groups, and its origin. */
export function limitInForce(name: LimitName, own: Limits, groups: readonly Pick<Group, "GroupName" | "Limits">[]): LimitInForce {
  const set = [{ group: "", limit: own[name] }, ...groups.map((each) => ({ group: each.GroupName, limit: each.Limits[name] }))]
  const amounts = set.filter((each) => typeof each.limit === "number")
  const lowest = amounts.toSorted((a, b) => Number(a.limit) - Number(b.limit))[0]
  return lowest ?? set.find(({ limit }) => limit === null) ?? { limit: undefined, group: "" }
}

export interface Usage {
  MaxRuns: number
  MaxQueued: number
  MaxCpus: number
  MaxMemory: number
  MaxGpus: number
}

/** The amounts that count towards each limit; queued runs count as well. */
export function usageOf(runs: readonly Pick<RunningProject, "State" | "Cpus" | "Memory" | "Gpus">[]): Usage {
  const sum = (name: "Cpus" | "Memory" | "Gpus") => runs.reduce((all, run) => all + run[name], 0)
  return {
    MaxRuns: runs.length,
    MaxQueued: runs.filter(({ State }) => State === "queued").length,
    MaxCpus: sum("Cpus"),
    MaxMemory: sum("Memory"),
    MaxGpus: sum("Gpus"),
  }
}

/** The runs of everybody that are not over, as many as one answer has. */
export const liveRunsQuery = apiQuery("listRuns", { query: { pageSize: 200 } })

/** The use of some runs in a few words; empty: nothing. */
export function summarizeUsage({ MaxRuns: runs, MaxCpus: cpus, MaxMemory: memory, MaxGpus: gpus }: Usage): string {
  if (runs === 0) return ""
  return adminTexts.people.amountsOf({ runs, cpus: formatCpus(cpus), memory: formatMemory(memory), gpus })
}
