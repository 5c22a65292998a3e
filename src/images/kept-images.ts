import { bounds } from "#contract"
import { type Engine, EngineError, type ImagePolicy } from "#engine"
import type { Clock, Logger } from "#kit"
import { type ImageRow, type Store, unrestrictedViewer } from "#store"
import type { ImagePulls } from "./pulls.ts"

/** How often the registry is asked whether the tag moved. */
const refreshMs = 6 * 3_600_000
const firstRetryMs = 300_000
const maxConcurrent = 2

export interface KeptImagePullerOptions {
  engine: Pick<Engine, "image">
  store: Store
  pulls: Pick<ImagePulls, "keep">
  /** The policy by which the image's owner may have it. */
  policyOf(image: ImageRow): Promise<ImagePolicy>
  clock: Clock
  logger: Logger
}

interface Attempt {
  nextAt: number
  /** When the registry was asked last; 0: not yet. */
  refreshedAt: number
  failures: number
}

/** Images that administrators keep on the engine. */
export async function listKeptImages({ images }: Pick<Store, "images">): Promise<ImageRow[]> {
  const page = { page: 1, pageSize: bounds.containers.keptImages.value }
  return (await images.list({ where: { keepPresent: true } }, unrestrictedViewer, page)).rows
}

/** Fetches the kept images that are missing, and those whose tags may have moved. */
export class KeptImagePuller {
  readonly #options: KeptImagePullerOptions
  /** By reference. */
  readonly #attempts = new Map<string, Attempt>()

  constructor(options: KeptImagePullerOptions) {
    this.#options = options
  }

  /** Fetches what is due, a few at a time. */
  async round(signal: AbortSignal): Promise<void> {
    const kept = new Map((await listKeptImages(this.#options.store)).map((row) => [row.image, row]))
    for (const reference of this.#attempts.keys()) if (!kept.has(reference)) this.#attempts.delete(reference)
    const waiting = [...kept.values()].filter(({ image }) => this.#isDue(image))
    const work = async () => {
      for (let row = waiting.shift(); row && !signal.aborted; row = waiting.shift()) await this.#attempt(row)
    }
    await Promise.all(Array.from({ length: maxConcurrent }, work))
  }

  #isDue(reference: string): boolean {
    return (this.#attempts.get(reference)?.nextAt ?? 0) <= this.#options.clock.now()
  }

  async #attempt(row: ImageRow): Promise<void> {
    const { clock, logger } = this.#options
    const attempt = this.#attempts.get(row.image) ?? { nextAt: 0, refreshedAt: 0, failures: 0 }
    this.#attempts.set(row.image, attempt)
    try {
      await this.#fetchIfNeeded(row, attempt)
      attempt.failures = 0
    } catch (error) {
      attempt.nextAt = clock.now() + Math.min(firstRetryMs * 2 ** attempt.failures, refreshMs)
      attempt.failures += 1
      const why = error instanceof EngineError ? { code: error.code, msg: error.message, detail: error.detail } : { err: error }
      logger.warn({ image: row.id, reference: row.image, ...why }, "an image that must stay present was not fetched")
    }
  }

  async #fetchIfNeeded(row: ImageRow, attempt: Attempt): Promise<void> {
    const { engine, pulls, clock } = this.#options
    const policy = await this.#options.policyOf(row)
    const found = await engine.image(row.image, policy)
    const isFresh = found && (found.registryDigest === "" || clock.now() - attempt.refreshedAt < refreshMs)
    if (isFresh) return
    await pulls.keep(row, policy)
    attempt.refreshedAt = clock.now()
  }
}
