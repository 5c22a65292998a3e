export interface Random {
  /** A whole number from 0, below the bound. */
  below(bound: number): number
  pick<T>(from: readonly T[]): T
  /** True once in so many times. */
  once(times: number): boolean
}

/** The same numbers for the same seed, so that a failure can be had again. (mulberry32) */
export function seededRandom(seed: number): Random {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (bound: number) => Math.floor(next() * bound)
  return { below, once: (times) => below(times) === 0, pick: (from) => from[below(from.length)] as (typeof from)[number] }
}
