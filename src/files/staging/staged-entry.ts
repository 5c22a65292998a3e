import { readlinkSync, symlinkSync, unlinkSync } from "node:fs"
import type { DirectoryHandle, EntryName } from "../tree/directory-handle.ts"
import { ignoreErrors } from "../tree/ignore-errors.ts"
import { removeTree } from "../tree/remove-tree.ts"

interface MarkerLink {
  directory: DirectoryHandle
  name: string
}

/** A name in the reserved directory, at first without content. Disposing it removes its content. */
export class StagedEntry implements AsyncDisposable {
  readonly parent: DirectoryHandle
  readonly name: string
  readonly #marker: MarkerLink | undefined
  #count = 0
  #remaining: readonly EntryName[] | undefined

  constructor(parent: DirectoryHandle, name: string, marker?: MarkerLink) {
    this.parent = parent
    this.name = name
    this.#marker = marker
  }

  /**
   * On another file system the entry lies in the target's directory, and a link in the worker's
   * directory shows the sweep where.
   */
  static besideTarget(parent: DirectoryHandle, name: string, marker: MarkerLink): StagedEntry {
    symlinkSync(readlinkSync(parent.path), marker.directory.pathTo(marker.name))
    return new StagedEntry(parent, name, marker)
  }

  /** Releases the name without removing its content. */
  release(): void {
    this.parent[Symbol.dispose]()
    if (!this.#marker) return
    const { directory, name } = this.#marker
    ignoreErrors(() => unlinkSync(directory.pathTo(name)))
    directory[Symbol.dispose]()
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
