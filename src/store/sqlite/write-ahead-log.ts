import { closeSync, fdatasync, openSync } from "node:fs"
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { promisify } from "node:util"
import { Failure } from "#contract"

/** The log is folded into the database after this many pages (16 MiB). */
const maxPages = 4_096
const flushInPool = promisify(fdatasync)

export type FlushFile = (descriptor: number) => Promise<void>

/**
 * The log to which SQLite appends each commit. A flush waits for the disk, while programs may write
 * gigabytes to it, so the thread pool does that instead of SQLite.
 */
export class WriteAheadLog implements Disposable {
  readonly #path: string
  readonly #flushFile: FlushFile
  readonly #length: StatementSync
  readonly #fold: StatementSync
  #fd: number | undefined
  #failure: unknown

  constructor(writer: DatabaseSync, file: string, flush: FlushFile = flushInPool) {
    // A commit flushes nothing, and folds nothing while reads see what was there before it.
    writer.exec("pragma synchronous = normal; pragma wal_autocheckpoint = 0")
    this.#path = `${file}-wal`
    this.#flushFile = flush
    this.#length = writer.prepare("pragma wal_checkpoint(noop)")
    this.#fold = writer.prepare("pragma wal_checkpoint(passive)")
  }

  /**
   * Throws the `Failure` of a flush that failed. The system reports it once, and later flushes
   * would succeed without the bytes that it lost.
   */
  assertSound(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /**
   * Resolves when all commits are on the disk. Rejects with a `Failure`: whether a restart finds
   * them is unknown.
   */
  async flush(): Promise<void> {
    try {
      // SQLite has no lock on this file that closing it would release.
      this.#fd ??= openSync(this.#path, "r")
      await this.#flushFile(this.#fd)
    } catch (cause) {
      this.#failure = new Failure("unavailable", "The disk that holds the database does not write: restart Quayside", { cause })
      throw this.#failure
    }
  }

  /** Folds a long log. SQLite flushes both files. Never throws: the next commit tries again. */
  foldIfLong(): void {
    try {
      const { log } = this.#length.get() as { log: number }
      if (log >= maxPages) this.#fold.get()
    } catch {
      // The disk is full, for example.
    }
  }

  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
  }
}
