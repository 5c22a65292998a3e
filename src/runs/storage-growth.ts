/** How long growth is remembered while nothing is wrong. */
const memoryMs = 60_000

type Areas = ReadonlyMap<string, number>

interface Series {
  last: Areas
  /** From some minute ago, or the last time that somebody was held to account. */
  lately: Areas
  latelyAt: number
  /** From the last time within the limits; undefined: not known, so the lowest since. */
  within: Areas
}

/** By how much people's directories grew between counts. */
export class Growth {
  readonly #series = new Map<string, Series>()

  record(name: string, areas: Readonly<Record<string, number>>, now: number): void {
    const last = new Map(Object.entries(areas))
    const known = this.#series.get(name)
    if (!known) return void this.#series.set(name, { last, lately: last, latelyAt: now, within: last })
    if (now - known.latelyAt >= memoryMs) {
      known.lately = known.last
      known.latelyAt = now
    }
    known.last = last
    // Who deletes may not write it all again while they are beyond.
    known.within = new Map([...known.within].map(([area, bytes]) => [area, Math.min(bytes, last.get(area) ?? 0)]))
  }

  /** The last count was within all limits. */
  isWithin(name: string): void {
    const series = this.#series.get(name)
    if (series) series.within = series.last
  }

  /** Growth since the person was last within their limits. */
  beyond(name: string): Map<string, number> {
    const series = this.#series.get(name)
    return series ? difference(series.last, series.within) : new Map()
  }

  /** Growth of all people's directories in the last minute or so. */
  lately(): Map<string, number> {
    return new Map([...this.#series.values()].flatMap(({ last, lately }) => [...difference(last, lately)]))
  }

  /** What grew until now is dealt with. */
  forgive(name: string): void {
    const series = this.#series.get(name)
    if (series) series.within = series.last
  }

  forgiveAll(): void {
    for (const series of this.#series.values()) series.lately = series.last
  }
}

function difference(now: Areas, before: Areas): Map<string, number> {
  return new Map(
    [...now].map(([area, bytes]) => [area, bytes - (before.get(area) ?? 0)] as [string, number]).filter(([, bytes]) => bytes > 0),
  )
}
