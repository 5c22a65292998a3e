import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"

const longestLeadMs = 10 * 60_000

/** Time between the warning and the end of a run by a limit of this duration. */
export function warningLeadMs(limitMs: number): number {
  return limitMs > longestLeadMs ? longestLeadMs : limitMs / 2
}

interface PlannedEnd {
  run: RunRow
  /** Identifies the cause, such as the last activity: other causes need other warnings. */
  cause: number
  /** Time until the limit is reached; negative when it was passed. */
  leftMs: number
  leadMs: number
  text(endsAt: string): string
}

/**
 * Warnings that runs end by a limit of time. No run ends before such a warning of this process, and
 * none sooner than the warning said: times are of the monotonic clock, and a restart warns again.
 */
export class EndWarnings {
  readonly #ctx: RunsContext
  readonly #sent = new Map<number, { cause: number; endTime: number }>()

  constructor(ctx: RunsContext) {
    this.#ctx = ctx
  }

  /**
   * Sends the warning when it is time, and another one when the announced end passed long ago:
   * nobody expects an end then. True if the run is to end now.
   */
  warnUntilDue({ run, cause, leftMs, leadMs, text }: PlannedEnd): boolean {
    const { clock, events, settings } = this.#ctx
    const now = clock.monotonic()
    const sent = this.#sent.get(run.id)
    if (sent?.cause === cause && now < sent.endTime + leadMs) return leftMs <= 0 && now >= sent.endTime
    // The check before this one was too early, and the one after it could be too late.
    if (leftMs > leadMs + settings.sampleEveryMs) return false
    const delayMs = Math.max(leftMs, leadMs)
    this.#sent.set(run.id, { cause, endTime: now + delayMs })
    const endsAt = clock.now() + delayMs
    events.warning(run, text(new Date(endsAt).toISOString()), endsAt)
    return false
  }

  /** When a run that was warned of this cause ends, in milliseconds since the epoch. */
  endOf(id: number, cause: number): number | undefined {
    const { clock } = this.#ctx
    const sent = this.#sent.get(id)
    return sent?.cause === cause ? clock.now() + Math.max(0, sent.endTime - clock.monotonic()) : undefined
  }

  retainOnly(isLive: (id: number) => boolean): void {
    for (const id of this.#sent.keys()) if (!isLive(id)) this.#sent.delete(id)
  }
}
