/** Ending a run takes some ten seconds, so the largest disk needs no larger reserve. */
const maxBytes = 64 * 2 ** 30
/** For small disks. */
const maxFraction = 1 / 16

/** The bytes to keep free on a disk of that size, by default. */
export function defaultDiskReserve(totalBytes: number, { minBytes, fraction }: { minBytes: number; fraction: number }): number {
  return Math.floor(Math.min(Math.max(minBytes, totalBytes * fraction), totalBytes * maxFraction, maxBytes))
}
