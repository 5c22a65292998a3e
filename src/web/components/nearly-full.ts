const nearlyFull = 0.92

/** Whether so little is left that it deserves attention. `share` is from 0 to 1. */
export function isNearlyFull(share: number): boolean {
  return share > nearlyFull
}
