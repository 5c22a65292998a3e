import { bounds } from "#contract"
import type { Clock } from "#kit"
import { TwoGenerationCache } from "../two-generation-cache.ts"
import type { LoadedCaller } from "./load-caller.ts"

interface CachedCaller extends LoadedCaller {
  loadedAt: number
  /** How many invalidations there were before it was loaded. */
  invalidations: number
}

/** Beyond this many people whose callers were invalidated, all callers are. */
const maxInvalidated = bounds.accounts.rememberedProofs.value

/** Caches callers by key until they expire or are invalidated, for at most what `maxAgeMs` says. */
export class CallerCache {
  readonly #clock: Clock
  readonly #maxAgeMs: () => number
  readonly #callers = new TwoGenerationCache<CachedCaller>(bounds.accounts.rememberedProofs.value)
  /** The number of each person's last invalidation: a walk over all callers would take long. */
  readonly #invalidated = new Map<number, number>()
  #invalidations = 0
  /** The number of the last one of everybody. */
  #everybodyInvalidated = 0

  constructor(clock: Clock, maxAgeMs: () => number) {
    this.#clock = clock
    this.#maxAgeMs = maxAgeMs
  }

  get invalidations(): number {
    return this.#invalidations
  }

  /** Whether the person's callers were invalidated after that number of invalidations. */
  isInvalidatedSince(userId: number, invalidations: number): boolean {
    return invalidations < Math.max(this.#everybodyInvalidated, this.#invalidated.get(userId) ?? 0)
  }

  get(key: string): LoadedCaller | undefined {
    const cached = this.#callers.get(key)
    if (cached === undefined) return undefined
    const now = this.#clock.now()
    if (cached.invalidations < (this.#invalidated.get(cached.caller.userId) ?? 0)) return undefined
    return cached.validUntil > now && cached.loadedAt + this.#maxAgeMs() > now ? cached : undefined
  }

  /**
   * Loads a caller and caches it. A caller that was read before an invalidation is returned but not
   * cached.
   */
  async load(
    key: string,
    read: () => Promise<LoadedCaller | undefined>,
    maxAgeMs = Number.POSITIVE_INFINITY,
  ): Promise<LoadedCaller | undefined> {
    const before = this.#invalidations
    const loaded = await read()
    if (!loaded) return undefined
    const loadedAt = this.#clock.now()
    const cached = { ...loaded, loadedAt, invalidations: before, validUntil: Math.min(loaded.validUntil, loadedAt + maxAgeMs) }
    if (before === this.#invalidations) this.#callers.set(key, cached)
    return cached
  }

  invalidate(userIds: ReadonlySet<number>): void {
    this.#invalidations += 1
    for (const userId of userIds) this.#invalidated.set(userId, this.#invalidations)
    if (this.#invalidated.size > maxInvalidated) this.invalidateAll()
  }

  invalidateAll(): void {
    this.#invalidations += 1
    this.#everybodyInvalidated = this.#invalidations
    this.#callers.clear()
    this.#invalidated.clear()
  }
}
