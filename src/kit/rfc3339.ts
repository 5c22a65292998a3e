const dayMs = 86_400_000
/** Maximum number of cached dates: the times of one answer mostly belong to a few days. */
const maxCachedDays = 400
const days = new Map<number, string>()
const two = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, "0"))
const three = Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, "0"))

/**
 * Formats milliseconds since the epoch as RFC 3339 in UTC, `2026-01-31T09:05:07.042Z`. Equal to
 * `Date.prototype.toISOString`, but several times faster: lists contain many times. Throws a
 * `RangeError` on an invalid time.
 */
export function rfc3339(time: number): string {
  const day = Math.floor(time / dayMs)
  const rest = time - day * dayMs
  const seconds = Math.floor(rest / 1000)
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const date = days.get(day) ?? dateOf(day)
  return `${date}${two[hours]}:${two[minutes - hours * 60]}:${two[seconds - minutes * 60]}.${three[rest - seconds * 1000]}Z`
}

/** The date with the following `T`. */
function dateOf(day: number): string {
  const text = new Date(day * dayMs).toISOString().slice(0, -"00:00:00.000Z".length)
  if (days.size >= maxCachedDays) days.clear()
  days.set(day, text)
  return text
}
