/**
 * Keeps an image from being removed between the moment a start finds it and the moment a container
 * uses it: until then the engine itself would remove it.
 */
export class ImageHolds {
  /** The number of starts by the image's digest. */
  readonly #held = new Map<string, number>()
  #removal: Promise<unknown> | undefined
  #removals = 0

  /** Finds an image and holds it. Searches again if a removal began meanwhile. */
  async find<T extends { digest: string }>(find: () => Promise<T>): Promise<{ image: T } & Disposable> {
    for (;;) {
      while (this.#removal) await this.#removal.catch(() => {})
      const before = this.#removals
      const image = await find()
      if (before === this.#removals) return { image, [Symbol.dispose]: this.#hold(image.digest) }
    }
  }

  /** Runs a removal unless a start holds the image; undefined if one does. */
  async remove<T>(digest: string, work: () => Promise<T>): Promise<T | undefined> {
    // One after another: a search that began during one could find what it removes.
    while (this.#removal) await this.#removal.catch(() => {})
    if (this.#held.has(digest)) return undefined
    this.#removals += 1
    const removal = work()
    this.#removal = removal
    return removal.finally(() => {
      if (this.#removal === removal) this.#removal = undefined
    })
  }

  #hold(digest: string): () => void {
    this.#held.set(digest, (this.#held.get(digest) ?? 0) + 1)
    return () => {
      const others = (this.#held.get(digest) ?? 1) - 1
      if (others > 0) this.#held.set(digest, others)
      else this.#held.delete(digest)
    }
  }
}
