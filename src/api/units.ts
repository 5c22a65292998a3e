import { Failure, invalid } from "#contract"
import { minMemoryMiB } from "#engine"

/** The units in which `Memory` and `GpuMemory` can be spoken of; inside everything is MiB. */
export const memoryUnits = ["bytes", "MiB", "GiB"] as const
export type MemoryUnit = (typeof memoryUnits)[number]

const mib = 1024 * 1024
/** More than any machine has. */
const mostMiB = 2 ** 31

/** An amount of a body in MiB. Bytes are rounded up to the next MiB. */
export function toMiB(amount: number, unit: MemoryUnit, field: string): number {
  const inMiB = unit === "bytes" ? Math.ceil(amount / mib) : unit === "GiB" ? amount * 1024 : amount
  if (inMiB > mostMiB) throw invalid(field, `at most ${fromMiB(mostMiB, unit)}, in ${unit}`, amount)
  return inMiB
}

/** The memory of a run; 0 is the default's. */
export function runMemory(amount: number, unit: MemoryUnit): number {
  const inMiB = toMiB(amount, unit, "Memory")
  if (inMiB > 0 && inMiB < minMemoryMiB) {
    const least = unit === "bytes" ? minMemoryMiB * mib : minMemoryMiB
    throw new Failure("invalid", `Memory must be 0 for the default, or at least ${least} ${unit}; got ${amount}`, { field: "Memory" })
  }
  return inMiB
}

/** An amount of MiB as it is answered; whole GiB are rounded up. */
export function fromMiB(amount: number, unit: MemoryUnit): number {
  return unit === "bytes" ? amount * mib : unit === "GiB" ? Math.ceil(amount / 1024) : amount
}

/**
 * What is left to be had, as it is answered: never more than there is, so whole GiB are rounded
 * down.
 */
export function leftOf(amount: number, unit: MemoryUnit): number {
  return unit === "GiB" ? Math.floor(amount / 1024) : fromMiB(amount, unit)
}

/** An observed number of bytes as it is answered: whole bytes, else with three decimals. */
export function fromBytes(bytes: number | null, unit: MemoryUnit): number | null {
  if (bytes === null) return null
  const amount = unit === "bytes" ? bytes : unit === "GiB" ? bytes / (mib * 1024) : bytes / mib
  return Math.round(amount * 1_000) / 1_000
}
