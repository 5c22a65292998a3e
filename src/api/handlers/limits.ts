import type { Limits } from "#contract"
import { fromMiB, type MemoryUnit, toMiB } from "../units.ts"

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
