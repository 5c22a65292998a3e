import { fstatSync, type Stats } from "node:fs"

const lookEveryMs = 1_500

interface OpenFile {
  fd: number
  end(): void
}

/**
 * The files that downloads have open, by reader. One that is deleted or replaced uses space until
 * its last download ends, and no count of directories finds it.
 */
export class OpenFiles implements Disposable {
  readonly #readers = new Map<string, Set<OpenFile>>()
  /** Bytes by reader, at the last look. */
  #deleted: ReadonlyMap<string, number> = new Map()
  readonly #sizeOf: (file: Stats) => number
  readonly #onDeleted: (reader: string) => void
  readonly #timer: NodeJS.Timeout

  /** `onDeleted` is called after each look that finds deleted files of a reader. */
  constructor({ sizeOf, onDeleted }: { sizeOf: (file: Stats) => number; onDeleted: (reader: string) => void }) {
    this.#sizeOf = sizeOf
    this.#onDeleted = onDeleted
    this.#timer = setInterval(() => this.#look(), lookEveryMs)
    this.#timer.unref()
  }

  /** Until the result is disposed of, which precedes the close of the descriptor. */
  hold(reader: string, file: OpenFile): Disposable {
    const files = this.#readers.get(reader) ?? new Set()
    this.#readers.set(reader, files.add(file))
    return {
      [Symbol.dispose]: () => {
        files.delete(file)
        if (files.size === 0 && this.#readers.get(reader) === files) this.#readers.delete(reader)
      },
    }
  }

  deletedBytes(reader: string): number {
    return this.#deleted.get(reader) ?? 0
  }

  /** Breaks off the reader's downloads of deleted files. */
  endDeleted(reader: string): void {
    for (const { fd, end } of this.#readers.get(reader) ?? []) if (fstatSync(fd).nlink === 0) end()
  }

  #look(): void {
    if (this.#readers.size === 0 && this.#deleted.size === 0) return
    const sums = [...this.#readers].map(([reader, files]) => [reader, this.#sum(files)] as const)
    this.#deleted = new Map(sums.filter(([, bytes]) => bytes > 0))
    for (const reader of this.#deleted.keys()) this.#onDeleted(reader)
  }

  #sum(files: ReadonlySet<OpenFile>): number {
    const sizes = new Map<string, number>()
    for (const { fd } of files) {
      const stats = fstatSync(fd)
      if (stats.nlink === 0) sizes.set(`${stats.dev}:${stats.ino}`, this.#sizeOf(stats))
    }
    return sizes.values().reduce((sum, bytes) => sum + bytes, 0)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
