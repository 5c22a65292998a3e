import type { EntryName } from "../tree/directory-handle.ts"
import { removeTree } from "../tree/remove-tree.ts"
import type { TreeDirectory } from "../tree/tree-directory.ts"

/** A name for an unfinished or deleted entry, at first without content. Disposing removes that. */
export class StagedEntry implements AsyncDisposable {
  readonly parent: TreeDirectory
  readonly name: string
  readonly #marker: Disposable | undefined
  #count = 0
  #remaining: readonly EntryName[] | undefined

  /** `marker`: shows the sweep where the entry lies, if that is not in the worker's directory. */
  constructor(parent: TreeDirectory, name: string, marker?: Disposable) {
    this.parent = parent
    this.name = name
    this.#marker = marker
  }

  /** Releases the name without removing its content. */
  release(): void {
    this.parent[Symbol.dispose]()
    this.#marker?.[Symbol.dispose]()
  }

  /**
   * Removes the content. Returns false when a program keeps changing it; the caller then retries.
   */
  async removeContent(): Promise<boolean> {
    this.#remaining = await removeTree(this.parent, this.#remaining ?? this.name, () => {
      this.#count += 1
      return `${this.name}-${this.#count}`
    })
    return this.#remaining.length === 0
  }

  async remove(): Promise<void> {
    await this.removeContent().finally(() => this.release())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove()
  }
}
