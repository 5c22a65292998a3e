import { constants, fdatasync, open, readlinkSync, renameSync, symlinkSync, unlinkSync } from "node:fs"
import { promisify } from "node:util"
import { type DirectoryHandle, type EntryName, safeOpenFlags } from "../tree/directory-handle.ts"
import { closeQuietly, ignoreErrors, removeTree } from "../tree/remove-tree.ts"

const sync = promisify(fdatasync)
const opened = promisify(open)

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

/** A file under way. Unless it was placed, disposing it leaves nothing. */
export class TempFile implements Disposable {
  readonly fd: number
  readonly #stage: StagedEntry
  #isMoved = false

  private constructor(stage: StagedEntry, fd: number) {
    this.#stage = stage
    this.fd = fd
  }

  /**
   * In the thread pool: a new file waits for the file system's journal while others are flushed.
   */
  static async open(stage: StagedEntry): Promise<TempFile> {
    try {
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | safeOpenFlags
      return new TempFile(stage, await opened(stage.parent.pathTo(stage.name), flags, 0o644))
    } catch (error) {
      stage.release()
      throw error
    }
  }

  /** Makes what was written survive a power cut. */
  flush(): Promise<void> {
    return sync(this.fd)
  }

  /** Gives it its place; a file that was there under this name is replaced. */
  moveTo(parent: DirectoryHandle, name: string): void {
    renameSync(this.#stage.parent.pathTo(this.#stage.name), parent.pathTo(name))
    this.#isMoved = true
  }

  [Symbol.dispose](): void {
    closeQuietly(this.fd)
    if (!this.#isMoved) ignoreErrors(() => unlinkSync(this.#stage.parent.pathTo(this.#stage.name)))
    this.#stage.release()
  }
}
