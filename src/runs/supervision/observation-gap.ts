/** Shortest time between two observations, however often the engine reports changes. */
const minGapMs = 50
/**
 * An observation reads all runs, and each start reports several changes. So the gap grows with the
 * duration: at most a tenth of the time is used for observing, however many runs there are.
 */
const gapPerDuration = 9
const maxGapMs = 1_000

/** The pause after an observation that took this long. */
export function gapAfterMs(durationMs: number): number {
  return Math.max(minGapMs, Math.min(maxGapMs, durationMs * gapPerDuration))
}
