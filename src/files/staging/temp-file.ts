import { constants, open, unlinkSync } from "node:fs"
import { promisify } from "node:util"
import { withDiskTurn } from "../requests/disk-turns.ts"
import { type DirectoryHandle, safeOpenFlags } from "../tree/directory-handle.ts"
import { closeQuietly, ignoreErrors } from "../tree/ignore-errors.ts"
import { moveEntry } from "../tree/move-entry.ts"
import { flush } from "./flush.ts"
import type { StagedEntry } from "./staged-entry.ts"

const openFile = promisify(open)

/** A file being written. Unless it was moved to its name, disposing removes it. */
export class TempFile implements Disposable {
  readonly fd: number
  readonly #entry: StagedEntry
  #isMoved = false

  private constructor(entry: StagedEntry, fd: number) {
    this.#entry = entry
    this.fd = fd
  }

  /**
   * Uses the thread pool, since a new file waits for the file system's journal during other
   * flushes.
   */
  static async open(entry: StagedEntry, userId: number): Promise<TempFile> {
    try {
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | safeOpenFlags
      const fd = await withDiskTurn(userId, () => openFile(entry.parent.pathTo(entry.name), flags, 0o644))
      return new TempFile(entry, fd)
    } catch (error) {
      entry.release()
      throw error
    }
  }

  /** Flushes the content, so that it survives a power cut. */
  flush(userId: number): Promise<void> {
    return flush(this.fd, userId)
  }

  /** Renames it to its final name; a file of that name is replaced. */
  moveTo(parent: DirectoryHandle, name: string): void {
    moveEntry({ parent: this.#entry.parent, name: this.#entry.name, fd: this.fd }, { parent, name })
    this.#isMoved = true
  }

  [Symbol.dispose](): void {
    closeQuietly(this.fd)
    if (!this.#isMoved) ignoreErrors(() => unlinkSync(this.#entry.parent.pathTo(this.#entry.name)))
    this.#entry.release()
  }
}
