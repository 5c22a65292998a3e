import { bounds, formatOciReference, normalizeOciReference } from "#contract"
import { type Engine, EngineError, gibText, type LittleRoom, type OnPull, type RoomRequest, type StoredImage } from "#engine"
import type { Clock, Logger } from "#kit"
import type { Store } from "#store"
import { listKeptImages } from "./kept-images.ts"
import { decidePruning, type PruneDecision, type PruneFacts, type PruneRules, type PullRecord } from "./prune-policy.ts"
import { bytesInUse, nextForRoom } from "./room-policy.ts"

const { imageSharePercent } = bounds.containers

export interface ImagePrunerOptions {
  engine: Pick<Engine, "images" | "removeImage">
  store: Store
  rules: PruneRules
  clock: Clock
  logger: Logger
}

/**
 * Records the images that Quayside fetches. If the record is not written, the image is never
 * pruned.
 */
export function createPullRecorder({ store, logger }: Pick<ImagePrunerOptions, "store" | "logger">): OnPull {
  return async (pulled) => {
    const written = store.change((tx) => tx.pulledImages.record(pulled))
    await written.catch((err: unknown) => logger.warn({ err, ...pulled }, "a fetched image was not recorded, so it is never pruned"))
  }
}

/**
 * Removes images that Quayside fetched and that nobody needs: those unused for long, if the rules
 * say so, and others while the engine's disk has little room.
 */
export class ImagePruner {
  readonly #options: ImagePrunerOptions
  /** The time of the last use since the last round, by digest. */
  readonly #uses = new Map<string, number>()

  constructor(options: ImagePrunerOptions) {
    this.#options = options
  }

  recordUse(digest: string): void {
    this.#uses.set(digest, this.#options.clock.now())
  }

  /** Decides by these rules, and changes nothing. */
  async decide(rules: PruneRules = this.#options.rules): Promise<PruneDecision[]> {
    return decidePruning(await this.#facts(), rules)
  }

  async prune(): Promise<void> {
    const { rules } = this.#options
    await this.#writeUses()
    await this.#forgetMissing()
    if (rules.days === 0 && rules.maxBytes === 0) return
    const tried = new Set<string>()
    for (;;) {
      // A run may have begun to need another image during the last removal.
      const next = (await this.decide()).find(({ prune, image }) => prune && !tried.has(image.digest))
      if (!next?.record) return
      tried.add(next.image.digest)
      await this.#remove(next.image, next.record, next.why)
    }
  }

  /**
   * Before a pull, while the engine's disk has little room. Rejects with `disk_full` if the images
   * in use that were fetched for the owner have their share of the disk already. Two pulls at once
   * choose the same images, so they remove no more than one. Nothing is removed for an image that
   * the registry does not offer, as without a network, where no other would come back either.
   */
  async makeRoom({ owner, measure, assertOffered, report }: RoomRequest): Promise<void> {
    const tried = new Set<string>()
    for (let little = await measure(); little; little = await measure()) {
      report(little)
      const facts = await this.#facts()
      const next = nextForRoom(facts, tried)
      const record = next && facts.fetched.get(next.digest)
      if (!record) return assertHasShare(bytesInUse(facts, owner), owner, little)
      if (tried.size === 0) await assertOffered()
      tried.add(next.digest)
      await this.#remove(next, record, "The engine's disk has little room")
    }
  }

  /** Never rejects: the engine may fail with one image again and again, and the others can go. */
  async #remove({ digest }: StoredImage, { references }: PullRecord, why: string): Promise<void> {
    const { engine, store, logger } = this.#options
    try {
      const outcome = await engine.removeImage({ digest, references })
      if (outcome === "removed") await store.change((tx) => tx.pulledImages.forget(digest))
      logger.info({ digest, references, outcome, why }, "pruned an image")
    } catch (err) {
      logger.warn({ err, digest, references, why }, "an image was not pruned")
    }
  }

  async #facts(): Promise<PruneFacts> {
    const { engine, store, clock } = this.#options
    const [stored, records, kept, live] = await Promise.all([engine.images(), this.#records(), listKeptImages(store), store.runs.live()])
    const now = clock.now()
    for (const [digest, at] of this.#uses) {
      const record = records.get(digest)
      if (record) record.usedAt = Math.max(record.usedAt, at)
    }
    const inUse = live.flatMap(({ spec, imageDigest }) => [imageDigest, spec.imageDigest ?? "", completeReference(spec.image)])
    return { stored, fetched: records, kept: new Set(kept.map(({ image }) => completeReference(image))), inUse: new Set(inUse), now }
  }

  async #records(): Promise<Map<string, PullRecord & { references: string[] }>> {
    const records = new Map<string, PullRecord & { references: string[] }>()
    for (const { reference, digest, fetchedAt, usedAt, fetchedFor } of await this.#options.store.pulledImages.all()) {
      const known = records.get(digest) ?? { references: [], fetchedAt: 0, usedAt: 0, fetchedFor }
      known.references.push(reference)
      known.fetchedAt = Math.max(known.fetchedAt, fetchedAt)
      known.usedAt = Math.max(known.usedAt, usedAt)
      records.set(digest, known)
    }
    return records
  }

  /** The end of a run is its image's last use, as exactly as the rounds follow each other. */
  async #writeUses(): Promise<void> {
    const { store, clock } = this.#options
    for (const { imageDigest } of await store.runs.live()) if (imageDigest !== "") this.#uses.set(imageDigest, clock.now())
    const uses = [...this.#uses]
    if (uses.length === 0) return
    await store.change(async (tx) => {
      for (const [digest, at] of uses) await tx.pulledImages.recordUse(digest, at)
    })
    for (const [digest, at] of uses) if (this.#uses.get(digest) === at) this.#uses.delete(digest)
  }

  /** If somebody removed an image and fetches it again by hand, it is theirs. */
  async #forgetMissing(): Promise<void> {
    const { engine, store } = this.#options
    const recorded = new Set((await store.pulledImages.all()).map(({ digest }) => digest))
    for (const { digest } of await engine.images()) recorded.delete(digest)
    for (const digest of recorded) await store.change((tx) => tx.pulledImages.forget(digest))
  }
}

/** Quayside's own pulls have no share. */
function assertHasShare(bytes: number, owner: string, { totalBytes }: LittleRoom): void {
  const most = (totalBytes * imageSharePercent.value) / 100
  if (owner === "" || bytes <= most) return
  const msg = `The images that were fetched for you and that runs use have ${gibText(bytes)} of the engine's disk, which is nearly full; one person may have ${gibText(most)}`
  throw new EngineError("disk_full", msg, { hint: "Stop runs whose images are large" })
}

function completeReference(image: string): string {
  const reference = normalizeOciReference(image)
  return reference ? formatOciReference(reference) : image
}
