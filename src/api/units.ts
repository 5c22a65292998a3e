import { Failure } from "#contract"

/** The units in which `Memory` and `GpuMemory` can be spoken of; inside everything is MiB. */
export const memoryUnits = ["bytes", "MiB", "GiB"] as const
export type MemoryUnit = (typeof memoryUnits)[number]

const mib = 1024 * 1024

/** An amount of a body in MiB. Bytes are rounded up to the next MiB. */
export function toMiB(amount: number, unit: MemoryUnit, field: string): number {
  const inMiB = unit === "bytes" ? Math.ceil(amount / mib) : unit === "GiB" ? amount * 1024 : amount
  if (inMiB > 2 ** 31) throw new Failure("invalid", `${field} is more than any machine has`, { field })
  return inMiB
}

/** An amount of MiB as it is answered; whole GiB are rounded up. */
export function fromMiB(amount: number, unit: MemoryUnit): number {
  return unit === "bytes" ? amount * mib : unit === "GiB" ? Math.ceil(amount / 1024) : amount
}

/** An observed number of bytes as it is answered: whole bytes, else with three decimals. */
export function fromBytes(bytes: number | null, unit: MemoryUnit): number | null {
  if (bytes === null) return null
  const amount = unit === "bytes" ? bytes : unit === "GiB" ? bytes / (mib * 1024) : bytes / mib
  return Math.round(amount * 1_000) / 1_000
}
