import { type Engine, EngineError, type ImagePolicy } from "#engine"
import type { Clock } from "#kit"

/** People correct and push an image meanwhile; registries count requests by the hour. */
const maxAgeMs = 60_000
const maxEntries = 1_000

/** The kinds of processor of images that the engine lacks, asked of registries rarely. */
export class RegistryArchitectures {
  readonly #engine: Engine
  readonly #clock: Clock
  /** By person, since registries answer their credentials; the oldest first. */
  readonly #asked = new Map<string, { at: number; answer: Promise<string> }>()

  constructor({ engine, clock }: { engine: Engine; clock: Clock }) {
    this.#engine = engine
    this.#clock = clock
  }

  /** Empty if the registry does not tell. */
  find(userId: number, reference: string, policy: ImagePolicy): Promise<string> {
    const key = `${userId} ${reference}`
    const earlier = this.#asked.get(key)
    if (earlier && this.#clock.monotonic() - earlier.at < maxAgeMs) return earlier.answer
    const answer = this.#ask(reference, policy)
    this.#asked.delete(key)
    this.#asked.set(key, { at: this.#clock.monotonic(), answer })
    for (const oldest of this.#asked.keys()) {
      if (this.#asked.size <= maxEntries) break
      this.#asked.delete(oldest)
    }
    return answer
  }

  async #ask(reference: string, policy: ImagePolicy): Promise<string> {
    try {
      return (await this.#engine.registryArchitecture?.(reference, policy)) ?? ""
    } catch (error) {
      if (error instanceof EngineError) return ""
      throw error
    }
  }
}
