import type { Stats } from "node:fs"
import { Slice } from "../requests/yielder.ts"

export interface CopyLimits {
  /** What the files take on the disk, holes not counted. */
  maxBytes?: number
  maxEntries?: number
}

export interface CopyOptions extends CopyLimits {
  /** Only the entry itself, a directory without its content. */
  shallow?: boolean
  /** As a move wants it: with links, which are copied as they are, and times. */
  whole?: boolean
  signal?: AbortSignal
  /** Told of each entry, and of its bytes before they are written; what it throws ends the copy. */
  take?(what: Copied): void
  /** Called now and then with what was copied so far. */
  onProgress?(done: Copied): void
}

/** Files and directories, and what the files take on the disk. */
export interface Copied {
  entries: number
  bytes: number
}

/** The tree holds more than may be copied, or is deeper than that. */
export class CopyLimit extends Error {
  override readonly name = "CopyLimit"
}

/** What has been done, held to the limits. */
export class Tally {
  readonly done: Copied = { entries: 0, bytes: 0 }
  readonly slice = new Slice()
  readonly options: CopyOptions

  constructor(options: CopyOptions) {
    this.options = options
  }

  entry(): void {
    this.options.signal?.throwIfAborted()
    this.done.entries += 1
    this.options.take?.({ entries: 1, bytes: 0 })
    const { maxEntries = Number.POSITIVE_INFINITY } = this.options
    if (this.done.entries > maxEntries) throw new CopyLimit(`There are more than ${maxEntries} files and directories`)
    if (this.done.entries % 100 === 0) this.tell()
  }

  add(bytes: number): void {
    this.assertRoomFor(bytes)
    this.options.take?.({ entries: 0, bytes })
    this.done.bytes += bytes
  }

  assertRoomFor(bytes: number): void {
    const { maxBytes = Number.POSITIVE_INFINITY } = this.options
    if (this.done.bytes + bytes > maxBytes) throw new CopyLimit(`There are more than ${maxBytes} bytes`)
  }

  tell(): void {
    this.options.onProgress?.(this.done)
  }
}

/** What a file takes on the disk: holes take nothing. */
export function takenBy({ size, blocks }: Pick<Stats, "size" | "blocks">): number {
  return Math.min(size, blocks * 512)
}
