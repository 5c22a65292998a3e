import { splitPath, type Yielder } from "#kit"
import { fileFailure } from "../failures.ts"
import type { PathLocks } from "../requests/path-locks.ts"
import { locateEntry } from "../tree/entry-location.ts"
import type { TreeDirectory } from "../tree/tree-directory.ts"
import type { DeadProperties } from "./dead-properties.ts"
import { budgetOwner } from "./property-table.ts"

/** A check looks up all entries of a tree that have properties. */
const minIntervalMs = 10_000

/** How a check looks entries up. */
interface Caller {
  root: TreeDirectory
  yielder: Yielder
}

/**
 * Removes the properties of entries that programs deleted or renamed. No request can name these
 * entries, and their properties would fill the budget of their owner for ever.
 */
export class StaleProperties {
  readonly #properties: DeadProperties
  readonly #pathLocks: PathLocks
  /** By owner's tree: the checks of the last seconds. */
  readonly #checks = new Map<string, Promise<void>>()

  constructor(properties: DeadProperties, pathLocks: PathLocks) {
    this.#properties = properties
    this.#pathLocks = pathLocks
  }

  /**
   * Checks the tree whose budget the path uses, at most once in ten seconds. The caller holds no
   * path lock.
   */
  async removeAround(path: string, caller: Caller): Promise<void> {
    const owner = budgetOwner(path)
    let check = this.#checks.get(owner)
    if (!check) {
      check = this.#check(owner, caller).finally(() => setTimeout(() => this.#checks.delete(owner), minIntervalMs).unref())
      this.#checks.set(owner, check)
    }
    await check
  }

  async #check(owner: string, { root, yielder }: Caller): Promise<void> {
    for (const [path] of await this.#properties.entriesWithin(owner)) {
      const names = splitPath(path)
      if (!(await exists(root, names))) await this.#removeUnlessMade(root, path, names)
      await yielder.pause()
    }
  }

  /** A request may just be moving the entry, and its properties next. */
  async #removeUnlessMade(root: TreeDirectory, path: string, names: readonly string[]): Promise<void> {
    using _lock = await this.#pathLocks.acquire([names])
    if (!(await exists(root, names))) await this.#properties.remove(path, root.owner)
  }
}

async function exists(root: TreeDirectory, names: readonly string[]): Promise<boolean> {
  if (names.length === 0) return true
  try {
    using location = await locateEntry(root, names)
    return location.stats !== undefined
  } catch (error) {
    return fileFailure(error)?.code !== "not_found"
  }
}
