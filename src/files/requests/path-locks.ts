import { joinPath } from "./address.ts"

interface Change {
  ended: Promise<void>
}

interface Changes {
  /** Of the entry itself. */
  at: Set<Change>
  /** Of entries below it. */
  below: Set<Change>
}

/**
 * Lets changes of the same entries take turns, in the order of their arrival. A change of a
 * directory is one of everything below it. Changes wait for the thread pool between their checks
 * and their calls, so others could come between.
 */
export class PathLocks {
  /** By path: changes that run or wait. */
  readonly #changes = new Map<string, Changes>()

  /** Resolves when all earlier changes of these entries have ended. Disposing ends this one. */
  async acquire(entries: readonly (readonly string[])[]): Promise<Disposable> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const change: Change = { ended: promise }
    const earlier = new Set(entries.flatMap((names) => this.#conflicting(names)))
    for (const names of entries) {
      for (const [path, kind] of placesOf(names)) this.#at(path)[kind].add(change)
      // It waits for all others here, so later ones need only wait for it.
      this.#changes.set(joinPath(names), { at: new Set([change]), below: new Set() })
    }
    const release = () => {
      for (const names of entries) for (const [path, kind] of placesOf(names)) this.#remove(path, kind, change)
      resolve()
    }
    await Promise.all([...earlier].map(({ ended }) => ended))
    return { [Symbol.dispose]: release }
  }

  #conflicting(names: readonly string[]): Change[] {
    const found = placesOf(names).flatMap(([path]) => [...(this.#changes.get(path)?.at ?? [])])
    return [...found, ...(this.#changes.get(joinPath(names))?.below ?? [])]
  }

  #at(path: string): Changes {
    const found = this.#changes.get(path)
    if (found) return found
    const made: Changes = { at: new Set(), below: new Set() }
    this.#changes.set(path, made)
    return made
  }

  #remove(path: string, kind: keyof Changes, change: Change): void {
    const changes = this.#changes.get(path)
    if (!changes) return
    changes[kind].delete(change)
    if (changes.at.size + changes.below.size === 0) this.#changes.delete(path)
  }
}

/** The entry's path, and those of the directories that contain it. */
function placesOf(names: readonly string[]): [path: string, kind: keyof Changes][] {
  return Array.from({ length: names.length + 1 }, (_, i) => [joinPath(names.slice(0, i)), i === names.length ? "at" : "below"])
}
