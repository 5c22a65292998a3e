import type { LimitName, Limits } from "#contract"
import { fromMiB, type MemoryUnit, toMiB } from "../units.ts"

/** The limits that are amounts of memory or disk. */
const amounts: readonly LimitName[] = ["MaxMemory", "MaxDisk", "MaxStorage"]

/** Limits of a body, with memory in MiB. */
export function toStoredLimits(limits: Limits, unit: MemoryUnit, field: string): Limits {
  return convertAmounts(limits, (amount) => toMiB(amount, unit, field))
}

/** Limits as they are answered. */
export function toLimitsResponse<L extends Limits>(limits: L, unit: MemoryUnit): L {
  return convertAmounts(limits, (amount) => fromMiB(amount, unit))
}

function convertAmounts<L extends Limits>(limits: L, convert: (amount: number) => number): L {
  const result: Limits = { ...limits }
  for (const name of amounts) if (typeof result[name] === "number") result[name] = convert(result[name])
  return result as L
}
