import type { Stats } from "node:fs"
import { DirectoryHandle, type EntryName } from "../tree/directory-handle.ts"
import { ignoreErrors } from "../tree/ignore-errors.ts"

/** A directory on the path to the one that is being scanned. */
interface Level {
  name: string
  /** Identify the directory on the way back. */
  dev: number
  ino: number
  /** Directories in it that are not scanned yet. */
  pending: string[]
}

export interface DeepVisitor {
  /** A directory whose entries follow. */
  onDirectory(directory: DirectoryHandle): void
  onEntry(stats: Stats, directory: DirectoryHandle, name: EntryName): void
}

/**
 * Scans everything below a directory, however deep: each `next()` of `steps` opens one directory or
 * passes one entry to `onEntry`, after its directory to `onDirectory`. Only one directory is open
 * at a time, and the way back is `..`. So a directory costs the same at any depth, and a pending
 * one needs only its name. If `..` leads elsewhere, because a program moved the directory, the scan
 * returns from the base.
 */
export class DeepScan {
  readonly #base: DirectoryHandle
  readonly #visitor: DeepVisitor
  readonly #maxPending: number
  readonly #levels: Level[] = []
  #directory: DirectoryHandle
  #pending = 0
  /** False when more directories were pending, or nested, than allowed. */
  isComplete = true

  constructor(base: DirectoryHandle, options: DeepVisitor & { maxPending: number }) {
    this.#base = base
    this.#visitor = options
    this.#maxPending = options.maxPending
    this.#directory = base.duplicate()
  }

  *steps(): Generator<void> {
    try {
      yield* this.#enter("")
      for (let level = this.#levels.at(-1); level; level = this.#levels.at(-1)) {
        yield
        const name = level.pending.pop()
        if (name === undefined) yield* this.#leave()
        else yield* this.#below(name)
      }
    } finally {
      this.#directory[Symbol.dispose]()
    }
  }

  *#below(name: string): Generator<void> {
    this.#pending -= 1
    // Skipped when it is gone or was replaced by a file.
    if (this.#switchTo(() => this.#directory.openReadable(bytesOf(name)))) yield* this.#enter(name)
  }

  /** Scans all entries of the open directory, which is one level deeper now. */
  *#enter(name: string): Generator<void> {
    const { dev, ino } = this.#directory.stat()
    const level: Level = { name, dev, ino, pending: [] }
    this.#levels.push(level)
    this.#visitor.onDirectory(this.#directory)
    const entries = ignoreErrors(() => this.#directory.readEntries())
    if (!entries) return
    try {
      for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
        yield
        this.#look(level, entry.name)
      }
    } finally {
      entries.closeSync()
    }
  }

  #look(level: Level, name: Buffer): void {
    const stats = ignoreErrors(() => this.#directory.lstat(name))
    if (!stats) return
    this.#visitor.onEntry(stats, this.#directory, name)
    if (!stats.isDirectory()) return
    if (this.#pending + this.#levels.length >= this.#maxPending) {
      this.isComplete = false
      return
    }
    this.#pending += 1
    level.pending.push(name.toString("latin1"))
  }

  *#leave(): Generator<void> {
    this.#levels.pop()
    const above = this.#levels.at(-1)
    if (!above) return
    const isBack = this.#switchTo(() => DirectoryHandle.open(`${this.#directory.path}/..`)) && this.#isAt(above)
    if (!isBack) yield* this.#returnFromBase()
  }

  /** Walks from the base down to the deepest directory of the path that was not moved. */
  *#returnFromBase(): Generator<void> {
    if (!this.#switchTo(() => this.#base.duplicate())) return this.#abandonBelow(0)
    for (let depth = 1; depth < this.#levels.length; depth += 1) {
      yield
      const level = this.#levels[depth] as Level
      using above = this.#directory.duplicate()
      if (this.#switchTo(() => above.openDirectory(bytesOf(level.name))) && this.#isAt(level)) continue
      this.#abandonBelow(this.#switchTo(() => above.duplicate()) ? depth : 0)
    }
  }

  /** Gives up the pending directories from that depth on, which are out of reach. */
  #abandonBelow(depth: number): void {
    for (const { pending } of this.#levels.splice(depth)) this.#pending -= pending.length
  }

  #isAt({ dev, ino }: Level): boolean {
    const stats = this.#directory.stat()
    return stats.dev === dev && stats.ino === ino
  }

  /** Replaces the open directory; false when the next one cannot be opened. */
  #switchTo(open: () => DirectoryHandle): boolean {
    const next = ignoreErrors(open)
    if (!next) return false
    this.#directory[Symbol.dispose]()
    this.#directory = next
    return true
  }
}

/** Pending names are stored as Latin-1, which needs less memory than bytes. */
const bytesOf = (name: string): EntryName => Buffer.from(name, "latin1")
