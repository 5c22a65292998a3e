import type { Clock, Logger } from "#kit"
import type { ImagePruner } from "./image-pruner.ts"
import type { KeptImagePuller } from "./kept-images.ts"

const roundMs = 300_000

export interface ImageMaintenanceOptions {
  kept: Pick<KeptImagePuller, "round">
  pruner: Pick<ImagePruner, "prune">
  /** While another process keeps and prunes, this one does not. Default: always. */
  isLeader?: () => boolean
  clock: Clock
  logger: Logger
}

/** Keeps images present and prunes others, every five minutes. Neither waits for the other. */
export class ImageMaintenance implements AsyncDisposable {
  readonly #options: ImageMaintenanceOptions
  readonly #closing = new AbortController()
  #wake = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: ImageMaintenanceOptions) {
    this.#options = options
  }

  start(): void {
    const { kept, pruner } = this.#options
    const { signal } = this.#closing
    this.#running = Promise.all([
      this.#repeat(() => kept.round(signal), "images that must stay present were not checked"),
      this.#repeat(() => pruner.prune(), "images were not pruned"),
    ])
  }

  /** Begins the next round now. */
  wake(): void {
    this.#wake.abort()
    this.#wake = new AbortController()
  }

  async #repeat(round: () => Promise<void>, failed: string): Promise<void> {
    const { clock, logger } = this.#options
    while (!this.#closing.signal.aborted) {
      const woken = this.#wake.signal
      if (this.#options.isLeader?.() ?? true) await round().catch((err: unknown) => logger.warn({ err }, failed))
      await clock.sleep(roundMs, AbortSignal.any([this.#closing.signal, woken])).catch(() => {})
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await this.#running
  }
}
