import { installation } from "./installation.ts"

const bytesOf = { bytes: 1, MiB: 2 ** 20, GiB: 2 ** 30 } as const
const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const

/** A number of bytes for people, with at most three digits. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1)
  const amount = bytes / 2 ** (10 * power)
  const digits = power === 0 || amount >= 100 ? 0 : 1
  return `${amount.toFixed(digits).replace(/\.0$/, "")} ${units[power]}`
}

/** An amount of memory in the unit of the API. */
export function formatMemory(amount: number, unit = installation.memoryUnit): string {
  return formatBytes(amount * bytesOf[unit])
}

/** Amounts of the API as GiB, and back: forms ask in GiB. */
export function memoryToGiB(amount: number, unit = installation.memoryUnit): number {
  return (amount * bytesOf[unit]) / bytesOf.GiB
}
export function memoryFromGiB(gib: number, unit = installation.memoryUnit): number {
  return Math.round((gib * bytesOf.GiB) / bytesOf[unit])
}

/** A number of CPUs with at most two digits after the point. */
export function formatCpus(cpus: number): string {
  return String(Math.round(cpus * 100) / 100)
}

const steps = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
  ["week", 4.35],
  ["month", 12],
  ["year", Number.POSITIVE_INFINITY],
] as const

/** How far a time lies from now: `3 minutes ago`, `in 2 hours`. */
export function formatRelative(time: Date, now: Date, locale?: string): string {
  const format = new Intl.RelativeTimeFormat(locale, { numeric: "auto" })
  let amount = (time.getTime() - now.getTime()) / 1000
  if (Math.abs(amount) < 5) return format.format(0, "second")
  for (const [unit, size] of steps) {
    if (Math.abs(amount) < size) return format.format(Math.round(amount), unit)
    amount /= size
  }
  return ""
}

/** A span of time in its two largest units: `2 h 5 min`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ] as const
  const first = parts.findIndex(([amount]) => amount > 0)
  if (first < 0) return "0 s"
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(" ")
}

/** The local day of a time, as the value of a date field. */
export function toDateInput(time: Date): string {
  const twoDigits = (part: number) => String(part).padStart(2, "0")
  return `${time.getFullYear()}-${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())}`
}
