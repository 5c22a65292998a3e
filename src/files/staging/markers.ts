import { readlinkSync } from "node:fs"
import { fileFailure } from "../failures.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"

/** Directories that stay marked for the next entry. */
const maxMarkers = 1_000
/** Begins the name of a marker. */
const markerPrefix = "at-"

interface Marker {
  name: string
  uses: number
  made: Promise<void>
}

/**
 * Links in the worker's directory that show the sweep in which other directories it has entries. A
 * marker stays for the next entry there, until many others are marked.
 */
export class Markers {
  readonly #own: () => DirectoryHandle
  /** By path, the last used one last. */
  readonly #markers = new Map<string, Marker>()
  #count = 0

  /** `own`: the worker's directory. */
  constructor(own: () => DirectoryHandle) {
    this.#own = own
  }

  /**
   * Marks a directory until the result is disposed. On a full disk, and below paths too long for a
   * link, an entry there goes without.
   */
  async mark(directory: TreeDirectory): Promise<Disposable> {
    const path = pathOf(directory)
    if (path === undefined) return { [Symbol.dispose]: () => {} }
    const marker = this.#markers.get(path) ?? this.#make(directory, path)
    this.#markers.delete(path)
    this.#markers.set(path, marker)
    marker.uses += 1
    this.#removeOldest(directory)
    await marker.made.catch((error: unknown) => {
      if (this.#markers.get(path) === marker) this.#markers.delete(path)
      if (fileFailure(error)?.code !== "storage_full") throw error
    })
    return {
      [Symbol.dispose]: () => {
        marker.uses -= 1
      },
    }
  }

  #make({ owner }: TreeDirectory, path: string): Marker {
    this.#count += 1
    const name = `${markerPrefix}${this.#count.toString(36)}`
    return { name, uses: 0, made: TreeDirectory.of(this.#own(), owner).makeLink(name, path) }
  }

  #removeOldest({ owner }: TreeDirectory): void {
    for (const [path, { name, uses }] of this.#markers) {
      if (this.#markers.size <= maxMarkers) return
      if (uses > 0) continue
      this.#markers.delete(path)
      void TreeDirectory.of(this.#own(), owner)
        .unlink(name)
        .catch(() => {})
    }
  }
}

function pathOf(directory: TreeDirectory): string | undefined {
  try {
    return readlinkSync(directory.path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENAMETOOLONG") return undefined
    throw error
  }
}
