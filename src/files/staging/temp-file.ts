import { constants, fdatasync, open, renameSync, unlinkSync } from "node:fs"
import { promisify } from "node:util"
import { type DirectoryHandle, safeOpenFlags } from "../tree/directory-handle.ts"
import { closeQuietly, ignoreErrors } from "../tree/remove-tree.ts"
import type { StagedEntry } from "./staged-entry.ts"

const flush = promisify(fdatasync)
const openFile = promisify(open)

/** A file being written. Unless it was moved to its name, disposing removes it. */
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
      return new TempFile(stage, await openFile(stage.parent.pathTo(stage.name), flags, 0o644))
    } catch (error) {
      stage.release()
      throw error
    }
  }

  /** Flushes the content, so that it survives a power cut. */
  flush(): Promise<void> {
    return flush(this.fd)
  }

  /** Renames it to its final name; a file of that name is replaced. */
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
