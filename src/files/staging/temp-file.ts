import { constants } from "node:fs"
import type { Entry } from "../tree/entry-location.ts"
import { closeQuietly } from "../tree/ignore-errors.ts"
import type { TreeDirectory } from "../tree/tree-directory.ts"
import { flush } from "./flush.ts"
import type { StagedEntry } from "./staged-entry.ts"

interface Making {
  /** Gives a staged file its place. */
  place(from: Entry & { fd: number }, to: Entry): Promise<void>
  /** Whether each write waits for the disk, as `flush` does. */
  isFlushed: boolean
  /** Less the bits that the process's mask takes away. */
  mode: number
}

/** A file being written. Unless it was moved to its name, disposing removes it. */
export class TempFile implements Disposable {
  readonly fd: number
  readonly isFlushed: boolean
  readonly #entry: StagedEntry
  readonly #place: Making["place"]
  #isMoved = false

  private constructor(entry: StagedEntry, fd: number, { place, isFlushed }: Making) {
    this.#entry = entry
    this.fd = fd
    this.#place = place
    this.isFlushed = isFlushed
  }

  static async open(entry: StagedEntry, making: Making): Promise<TempFile> {
    try {
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | (making.isFlushed ? constants.O_DSYNC : 0)
      return new TempFile(entry, await entry.parent.open(entry.name, flags, making.mode), making)
    } catch (error) {
      entry.release()
      throw error
    }
  }

  /** Flushes the content, so that it survives a power cut. */
  flush(): Promise<void> {
    return flush(this.fd, this.#entry.parent.owner)
  }

  /** Gives it its final name; a file of that name is replaced. */
  async moveTo(parent: TreeDirectory, name: string): Promise<void> {
    await this.#place({ parent: this.#entry.parent, name: this.#entry.name, fd: this.fd }, { parent, name })
    this.#isMoved = true
  }

  [Symbol.dispose](): void {
    closeQuietly(this.fd)
    if (this.#isMoved) this.#entry.release()
    else
      void this.#entry.parent
        .unlink(this.#entry.name)
        .catch(() => {})
        .then(() => this.#entry.release())
  }
}
