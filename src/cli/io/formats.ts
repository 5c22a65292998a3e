import { CliError, exitCodes } from "./failures.ts"

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]

/** A number of bytes with a unit, such as `1.4 GiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** How long ago a time was, in the largest unit that fits: `3 min`, `2 h`, `5 d`. */
export function formatAge(time: string | null, now: number): string {
  if (time === null) return ""
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`
}

export type MemoryUnit = "bytes" | "MiB" | "GiB"
const unitBytes: Readonly<Record<MemoryUnit, number>> = { bytes: 1, MiB: 2 ** 20, GiB: 2 ** 30 }

/** An amount of memory such as `4GiB`, `512 MiB` or `2g`, in the server's unit. */
export function parseMemory(text: string, unit: MemoryUnit, option: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)$/i.exec(text.trim())
  if (!match) throw usageError(`${option} must be a size with its unit, such as 4GiB or 512MiB; got ${JSON.stringify(text)}`)
  const bytes = Number(match[1]) * 1024 ** ("KMGT".indexOf((match[2] ?? "").toUpperCase() || "-") + 1)
  return Math.ceil(bytes / unitBytes[unit])
}

/** An amount in the server's unit as text. */
export function formatMemory(amount: number | null, unit: MemoryUnit): string {
  return amount === null ? "" : formatBytes(amount * unitBytes[unit])
}

/** A whole number in a range. */
export function parseCount(text: string, option: string, { min = 0, max = 2 ** 31 - 1 } = {}): number {
  if (!/^\d{1,10}$/.test(text) || Number(text) < min || Number(text) > max)
    throw usageError(`${option} must be a whole number from ${min} to ${max}; got ${JSON.stringify(text)}`)
  return Number(text)
}

/** A time such as `10m`, `2h` or `7d` from now, or an RFC 3339 time. */
export function parseTime(text: string, option: string, { now, sign }: { now: number; sign: 1 | -1 }): string {
  const span = /^(\d{1,6})(s|m|min|h|d)$/.exec(text)
  const seconds = { s: 1, m: 60, min: 60, h: 3_600, d: 86_400 }[span?.[2] ?? ""] ?? 0
  const time = span ? now + sign * Number(span[1]) * seconds * 1000 : Date.parse(text)
  if (Number.isNaN(time))
    throw usageError(`${option} must be a time such as 10m, 2h, 7d or 2026-01-31T12:00:00Z; got ${JSON.stringify(text)}`)
  return new Date(time).toISOString()
}

export function usageError(message: string): CliError {
  return new CliError(message, { exitCode: exitCodes.usage })
}
