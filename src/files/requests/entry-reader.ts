import type { Stats } from "node:fs"
import type { TreeDirectory } from "../tree/tree-directory.ts"

/** Names that are looked up ahead, each lane by one thread of the pool. */
const lanes = 4
const namesOfLane = 16

/**
 * Reads the stats of entries that are visited in order. The kernel's cache has them at once if they
 * were looked up lately; otherwise the next ones are looked up together.
 */
export class EntryReader {
  readonly directory: TreeDirectory
  readonly #names: readonly string[]
  /** Names before this one were visited or left out. */
  #next = 0
  readonly #ahead = new Map<string, Stats | undefined>()

  constructor(directory: TreeDirectory, names: readonly string[]) {
    this.directory = directory
    this.#names = names
  }

  /** The current stats of a name behind the last one; undefined when nothing is there. */
  async lstat(name: string): Promise<Stats | undefined> {
    const at = this.#names.indexOf(name, this.#next)
    this.#next = at + 1
    if (!this.#ahead.has(name)) {
      const known = this.directory.knownStats(name)
      if (known !== undefined) return known ?? undefined
      await this.#lookAhead(at)
    }
    const stats = this.#ahead.get(name)
    this.#ahead.delete(name)
    return stats
  }

  async #lookAhead(first: number): Promise<void> {
    this.#ahead.clear()
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        const names = this.#names.slice(first + lane * namesOfLane, first + (lane + 1) * namesOfLane)
        const found = names.length > 0 ? await this.directory.lookUp(names) : []
        for (const [i, name] of names.entries()) this.#ahead.set(name, found[i])
      }),
    )
  }
}
