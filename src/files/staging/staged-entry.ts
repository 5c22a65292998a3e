import { readlinkSync, symlinkSync, unlinkSync } from "node:fs"
import type { DirectoryHandle, EntryName } from "../tree/directory-handle.ts"
import { ignoreErrors, removeTree } from "../tree/remove-tree.ts"

interface MarkerLink {
  directory: DirectoryHandle
  name: string
}

/**
 * A name in the hidden place, at first with nothing there. Disposing it removes what is still
 * there.
 */
export class StagedEntry implements AsyncDisposable {
  readonly parent: DirectoryHandle
  readonly name: string
  readonly #marker: MarkerLink | undefined
  #count = 0
  #left: readonly EntryName[] | undefined

  constructor(parent: DirectoryHandle, name: string, marker?: MarkerLink) {
    this.parent = parent
    this.name = name
    this.#marker = marker
  }

  /**
   * On a file system of its own the target's directory holds it, and a link in the worker's folder
   * tells the sweep where.
   */
  static besideTarget(parent: DirectoryHandle, name: string, marker: MarkerLink): StagedEntry {
    symlinkSync(readlinkSync(parent.path), marker.directory.pathTo(marker.name))
    return new StagedEntry(parent, name, marker)
  }

  /** Gives up the name, and not what is there. */
  release(): void {
    this.parent[Symbol.dispose]()
    if (!this.#marker) return
    const { directory, name } = this.#marker
    ignoreErrors(() => unlinkSync(directory.pathTo(name)))
    directory[Symbol.dispose]()
  }

  /**
   * Removes what is there. Answers false when something is left because a program that is in it
   * keeps changing it; to be called again then.
   */
  async removeContent(): Promise<boolean> {
    this.#left = await removeTree(this.parent, this.#left ?? this.name, () => {
      this.#count += 1
      return `${this.name}-${this.#count}`
    })
    return this.#left.length === 0
  }

  async remove(): Promise<void> {
    await this.removeContent().finally(() => this.release())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove()
  }
}
