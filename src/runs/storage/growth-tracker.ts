import { dirname } from "node:path/posix"

/** How long growth counts while the person is within the limits. */
const memoryMs = 60_000

type Areas = ReadonlyMap<string, number>

interface Series {
  last: Areas
  /** A count about one minute old, or the one after the last action of the enforcer. */
  lately: Areas
  latelyAt: number
  /** The last count within the limits, or if there was none, the lowest since. */
  within: Areas
  boundaries: ReadonlySet<string>
}

/** An area that has grown. */
export interface GrownArea {
  area: string
  bytes: number
  /** Roots of other areas; an area does not contain the directories below these. */
  boundaries: ReadonlySet<string>
}

/** Tracks how much people's directories grew between counts. */
export class GrowthTracker {
  readonly #series = new Map<string, Series>()

  record(name: string, areas: Readonly<Record<string, number>>, { excluded, now }: { excluded: readonly string[]; now: number }): void {
    const last = new Map(Object.entries(areas))
    const boundaries = new Set([...last.keys(), ...excluded])
    const known = this.#series.get(name)
    if (!known) return void this.#series.set(name, { last, lately: last, latelyAt: now, within: last, boundaries })
    if (now - known.latelyAt >= memoryMs) {
      known.lately = known.last
      known.latelyAt = now
    }
    known.lately = splitAs(last, known.lately)
    // Deleting files does not permit the same growth again while the person exceeds a limit.
    known.within = new Map([...splitAs(last, known.within)].map(([area, bytes]) => [area, Math.min(bytes, last.get(area) ?? 0)]))
    known.last = last
    known.boundaries = boundaries
  }

  /** Counts only later growth: the last count is within the limits, or the enforcer has acted. */
  resetOverLimit(name: string): void {
    const series = this.#series.get(name)
    if (series) series.within = series.last
  }

  /** Growth since the person was last within their limits. */
  growthOverLimit(name: string): GrownArea[] {
    const series = this.#series.get(name)
    return series ? difference(series, series.within) : []
  }

  /** Growth of all people's directories during about the last minute. */
  recentGrowth(): GrownArea[] {
    return [...this.#series.values()].flatMap((series) => difference(series, series.lately))
  }

  resetRecentGrowth(): void {
    for (const series of this.#series.values()) series.lately = series.last
  }
}

function difference({ last, boundaries }: Series, before: Areas): GrownArea[] {
  const grown = [...last].map(([area, bytes]) => ({ area, bytes: bytes - (before.get(area) ?? 0), boundaries }))
  return grown.filter(({ bytes }) => bytes > 0)
}

/**
 * Splits an earlier count into the areas of a later one. When a directory becomes an area or stops
 * being one, its bytes move from or to the surrounding area, and neither has grown. A new area
 * without a surrounding one begins with its present size.
 */
function splitAs(later: Areas, earlier: Areas): Areas {
  const split = new Map<string, number>()
  for (const [area, bytes] of earlier) {
    const target = later.has(area) ? area : enclosingArea(area, later)
    if (target !== undefined) split.set(target, (split.get(target) ?? 0) + bytes)
  }
  for (const [area, bytes] of later) {
    if (split.has(area)) continue
    const around = enclosingArea(area, split)
    const left = around === undefined ? bytes : (split.get(around) ?? 0) - (later.get(around) ?? 0)
    const moved = Math.min(Math.max(left, 0), bytes)
    split.set(area, moved)
    if (around !== undefined) split.set(around, (split.get(around) ?? 0) - moved)
  }
  return split
}

/** The innermost area that contains a directory. */
export function enclosingArea(directory: string, areas: { has(area: string): boolean }): string | undefined {
  for (let path = directory; path.length > 1; ) {
    path = dirname(path)
    if (areas.has(path)) return path
  }
  return undefined
}
