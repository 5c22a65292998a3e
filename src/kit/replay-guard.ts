/**
 * Rejects the second use of a one-time ID until it expires. All IDs live equally long, so they
 * expire in their order of use.
 */
export class ReplayGuard {
  /** Expiry times by ID, oldest first. */
  readonly #ends = new Map<string, number>()

  /**
   * Uses the ID. False if it was used before or expired at `endsAt` (milliseconds since the epoch).
   */
  use({ id, endsAt }: { id: string; endsAt: number }, now: number): boolean {
    for (const [each, end] of this.#ends) {
      if (end > now) break
      this.#ends.delete(each)
    }
    if (endsAt <= now || this.#ends.has(id)) return false
    this.#ends.set(id, endsAt)
    return true
  }
}
