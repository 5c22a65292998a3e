import { bounds } from "#contract"
import type { Clock } from "#kit"
import { TwoGenerationCache } from "../two-generation-cache.ts"
import type { LoadedCaller } from "./load-caller.ts"

/** Caches callers by key until they expire or are invalidated, for at most `maxAgeMs`. */
export class CallerCache {
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #callers = new TwoGenerationCache<LoadedCaller>(bounds.accounts.rememberedProofs.value)
  #invalidations = 0

  constructor(clock: Clock, maxAgeMs: number) {
    this.#clock = clock
    this.#maxAgeMs = maxAgeMs
  }

  get(key: string): LoadedCaller | undefined {
    const cached = this.#callers.get(key)
    return cached !== undefined && cached.validUntil > this.#clock.now() ? cached : undefined
  }

  /**
   * Loads a caller and caches it. A caller that was read before an invalidation is returned but not
   * cached.
   */
  async load(key: string, read: () => Promise<LoadedCaller | undefined>, maxAgeMs = this.#maxAgeMs): Promise<LoadedCaller | undefined> {
    const before = this.#invalidations
    const loaded = await read()
    if (!loaded) return undefined
    const cached = { ...loaded, validUntil: Math.min(loaded.validUntil, this.#clock.now() + Math.min(maxAgeMs, this.#maxAgeMs)) }
    if (before === this.#invalidations) this.#callers.set(key, cached)
    return cached
  }

  invalidate(userIds: ReadonlySet<number>): void {
    this.#invalidations += 1
    this.#callers.deleteWhere((cached) => userIds.has(cached.caller.userId))
  }

  invalidateAll(): void {
    this.#invalidations += 1
    this.#callers.clear()
  }
}
