import { Failure, invalidField } from "#contract"
import { minMemoryMiB } from "#engine"

/** The units of `Memory` and `GpuMemory` on the wire. The code counts in MiB. */
export const memoryUnits = ["bytes", "MiB", "GiB"] as const
export type MemoryUnit = (typeof memoryUnits)[number]

const bytesPerMiB = 1024 * 1024
/** More than any machine has. */
const maxMiB = 2 ** 31

/** Converts an amount of a body to MiB. Bytes are rounded up to the next MiB. */
export function toMiB(amount: number, unit: MemoryUnit, field: string): number {
  const inMiB = unit === "bytes" ? Math.ceil(amount / bytesPerMiB) : unit === "GiB" ? amount * 1024 : amount
  if (inMiB > maxMiB) throw invalidField(field, `at most ${fromMiB(maxMiB, unit)}, in ${unit}`, amount)
  return inMiB
}

/** The memory of a run in MiB; 0 means the default. */
export function toRunMemoryMiB(amount: number, unit: MemoryUnit): number {
  const inMiB = toMiB(amount, unit, "Memory")
  if (inMiB > 0 && inMiB < minMemoryMiB) {
    const least = unit === "bytes" ? minMemoryMiB * bytesPerMiB : minMemoryMiB
    throw new Failure("invalid", `Memory must be 0 for the default, or at least ${least} ${unit}; got ${amount}`, { field: "Memory" })
  }
  return inMiB
}

/** Converts MiB to the unit of responses. GiB are rounded up. */
export function fromMiB(amount: number, unit: MemoryUnit): number {
  return unit === "bytes" ? amount * bytesPerMiB : unit === "GiB" ? Math.ceil(amount / 1024) : amount
}

/**
 * Converts an amount that is still free. GiB are rounded down, since a response never offers more
 * than there is.
 */
export function fromMiBRoundedDown(amount: number, unit: MemoryUnit): number {
  return unit === "GiB" ? Math.floor(amount / 1024) : fromMiB(amount, unit)
}

/** Converts measured bytes: to whole bytes, or to three decimals of another unit. */
export function fromBytes(bytes: number | null, unit: MemoryUnit): number | null {
  if (bytes === null) return null
  const amount = unit === "bytes" ? bytes : unit === "GiB" ? bytes / (bytesPerMiB * 1024) : bytes / bytesPerMiB
  return Math.round(amount * 1_000) / 1_000
}
