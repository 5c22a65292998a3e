/**
 * Remembers what may be used once for as long as it could be used again. What it is given lasts
 * equally long, so the oldest ends first.
 */
export class ReplayGuard {
  /** When each would have ended, oldest first. */
  readonly #ends = new Map<string, number>()

  /**
   * Uses it up. False when it was used before, or its time (milliseconds since the epoch) is over.
   */
  once({ id, endsAt }: { id: string; endsAt: number }, now: number): boolean {
    for (const [each, end] of this.#ends) {
      if (end > now) break
      this.#ends.delete(each)
    }
    if (endsAt <= now || this.#ends.has(id)) return false
    this.#ends.set(id, endsAt)
    return true
  }
}
