import type { Stats } from "node:fs"
import { Yielder } from "#kit"

export interface CopyLimits {
  /** Bytes that the files occupy on the disk; holes do not count. */
  maxBytes?: number
  maxEntries?: number
}

export interface EntryCopyOptions extends CopyLimits {
  /** Only the entry itself, a directory without its content. */
  withoutContent?: boolean
  /** For a move: also copy links, as they are, and times. */
  preserveLinksAndTimes?: boolean
  signal?: AbortSignal
  /**
   * Called for each entry, and with its bytes before they are written. An error that it throws ends
   * the copy.
   */
  onCopied?(what: CopyTotals): void
  /** Called at intervals with the totals so far. */
  onProgress?(done: CopyTotals): void
}

/** Numbers of files and directories, and of bytes on the disk. */
export interface CopyTotals {
  entries: number
  bytes: number
}

/** The tree is larger or deeper than a copy may be. */
export class CopyLimitError extends Error {
  override readonly name = "CopyLimitError"
}

/** Counts what was copied and enforces the limits. */
export class CopyCounter {
  readonly totals: CopyTotals = { entries: 0, bytes: 0 }
  readonly yielder = new Yielder()
  readonly options: EntryCopyOptions

  constructor(options: EntryCopyOptions) {
    this.options = options
  }

  addEntry(): void {
    this.options.signal?.throwIfAborted()
    this.totals.entries += 1
    this.options.onCopied?.({ entries: 1, bytes: 0 })
    const { maxEntries = Number.POSITIVE_INFINITY } = this.options
    if (this.totals.entries > maxEntries) throw new CopyLimitError(`There are more than ${maxEntries} files and directories`)
    if (this.totals.entries % 100 === 0) this.reportProgress()
  }

  addBytes(bytes: number): void {
    this.assertRoomFor(bytes)
    this.options.onCopied?.({ entries: 0, bytes })
    this.totals.bytes += bytes
  }

  assertRoomFor(bytes: number): void {
    const { maxBytes = Number.POSITIVE_INFINITY } = this.options
    if (this.totals.bytes + bytes > maxBytes) throw new CopyLimitError(`There are more than ${maxBytes} bytes`)
  }

  reportProgress(): void {
    this.options.onProgress?.(this.totals)
  }
}

/** The bytes that a file occupies on the disk; holes do not count. */
export function bytesOnDisk({ size, blocks }: Pick<Stats, "size" | "blocks">): number {
  return Math.min(size, blocks * 512)
}
