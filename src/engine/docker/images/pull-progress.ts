import { bounds } from "#contract"
import { EngineError, type Progress } from "../../engine.ts"

const maxLayers = bounds.containers.imageLayers.value

/** One line of the daemon's pull stream. */
export interface PullEvent {
  status?: string
  id?: string
  progressDetail?: { current?: number; total?: number }
  error?: string
}

interface Layer {
  total: number
  downloaded: number
  extracted: number
}

/**
 * Sums a pull's progress over its layers.
 *
 * `current` counts downloaded bytes and never shrinks, though the daemon restarts a layer after a
 * broken connection. `total` grows as the daemon discovers layers. While the last layers are
 * unpacked, `step` is `extracting` and `current` stays. When a connection broke, `step` says so
 * until more bytes arrive.
 */
export class PullProgress {
  readonly #layers = new Map<string, Layer>()
  /**
   * Sum over all layers, kept incrementally: an image may have thousands, and each reports often.
   */
  #total = 0
  #downloaded = 0
  #current = 0
  #isInterrupted = false
  readonly #ids = new Set<string>()
  readonly #registry: string

  constructor(registry: string) {
    this.#registry = registry
  }

  /**
   * Adds one event; returns the new sum if bytes have moved since the previous event, or if a
   * connection broke.
   */
  add(event: PullEvent): Progress | undefined {
    if (event.status?.startsWith("Retrying in ")) return this.#interrupt()
    const { id, status = "", progressDetail: { current = 0, total = 0 } = {} } = event
    // The first event's ID is the tag.
    if (id === undefined || status.startsWith("Pulling from ")) return undefined
    this.#countLayer(id)
    const layer = this.#layers.get(id) ?? { total: 0, downloaded: 0, extracted: 0 }
    const before = { ...layer }
    const moved = advance(layer, { status, current, total })
    if (!moved) return undefined
    this.#isInterrupted = false
    this.#layers.set(id, layer)
    this.#total += layer.total - before.total
    this.#downloaded += layer.downloaded - before.downloaded
    return this.#sum(status === "Extracting" ? "extracting" : "downloading")
  }

  /**
   * The daemon announces each layer in several events, and fails only after it fetched them, if
   * there are too many.
   */
  #countLayer(id: string): void {
    if (this.#ids.add(id).size <= maxLayers) return
    throw new EngineError("image_unavailable", `The image cannot be used: it has more than ${maxLayers} layers`)
  }

  /** The daemon retries for about a minute, and counts down each second. */
  #interrupt(): Progress | undefined {
    if (this.#isInterrupted) return undefined
    this.#isInterrupted = true
    return { ...this.#sum(""), step: `the registry ${this.#registry} broke off; trying again` }
  }

  #sum(step: string): Progress {
    this.#current = Math.max(this.#current, this.#downloaded)
    return { step: this.#current < this.#total ? "downloading" : step, current: this.#current, total: this.#total, unit: "bytes" }
  }
}

function advance(layer: Layer, { status, current, total }: { status: string; current: number; total: number }): boolean {
  const before = { ...layer }
  if (status === "Downloading") {
    layer.total = Math.max(layer.total, total, current)
    layer.downloaded = Math.max(layer.downloaded, current)
  } else if (status === "Extracting") {
    layer.total = Math.max(layer.total, total)
    layer.downloaded = layer.total
    layer.extracted = Math.max(layer.extracted, current)
  } else if (status === "Download complete" || status === "Pull complete") {
    layer.downloaded = layer.total
  }
  return before.total !== layer.total || before.downloaded !== layer.downloaded || before.extracted !== layer.extracted
}
