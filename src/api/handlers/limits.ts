import type { Limits } from "#contract"
import { fromMiB, type MemoryUnit, toMiB } from "../units.ts"

/** Limits of a body, with memory in MiB. */
export function storedLimits(limits: Limits, unit: MemoryUnit, field: string): Limits {
  const stored = (amount: number | null) => (amount === null ? null : toMiB(amount, unit, field))
  const { MaxMemory, MaxDisk, MaxStorage } = limits
  return { ...limits, MaxMemory: stored(MaxMemory), MaxDisk: stored(MaxDisk), MaxStorage: stored(MaxStorage) }
}

/** Limits as they are answered. */
export function answeredLimits(limits: Limits, unit: MemoryUnit): Limits {
  const answered = (amount: number | null) => (amount === null ? null : fromMiB(amount, unit))
  // Rows that were written before a limit existed lack it.
  const { MaxMemory, MaxDisk, MaxStorage = null } = limits
  return { ...limits, MaxMemory: answered(MaxMemory), MaxDisk: answered(MaxDisk), MaxStorage: answered(MaxStorage) }
}
