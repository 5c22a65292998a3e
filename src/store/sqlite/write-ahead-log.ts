import { closeSync, fdatasync, openSync } from "node:fs"
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { promisify } from "node:util"
import { Failure } from "#contract"
import { LogFolder } from "./log-folder.ts"

/** Folding begins when so many pages (12 MiB) are not yet in the database. */
const foldedPages = 3_072
/** In a log of this length (16 MiB), changes wait until all is folded, and SQLite reuses it. */
const maxPages = 4_096
const flushInPool = promisify(fdatasync)

export type FlushFile = (descriptor: number) => Promise<void>

/**
 * The log to which SQLite appends each commit. A flush waits for the disk, while programs may write
 * gigabytes to it, so the thread pool does that instead of SQLite. Folding the log into the
 * database flushes both, so a thread does that.
 */
export class WriteAheadLog implements AsyncDisposable {
  readonly #file: string
  readonly #flushFile: FlushFile
  readonly #length: StatementSync
  readonly #folder: LogFolder
  #folding: Promise<void> | undefined
  #fd: number | undefined
  #failure: unknown

  constructor(writer: DatabaseSync, file: string, flush: FlushFile = flushInPool) {
    // A commit flushes nothing and folds nothing.
    writer.exec("pragma synchronous = normal; pragma wal_autocheckpoint = 0")
    this.#file = file
    this.#flushFile = flush
    this.#folder = new LogFolder(file)
    this.#length = writer.prepare("pragma wal_checkpoint(noop)")
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
      this.#fd ??= openSync(`${this.#file}-wal`, "r")
      await this.#flushFile(this.#fd)
    } catch (cause) {
      this.#failure = new Failure("unavailable", "The disk that holds the database does not write: restart Quayside", { cause })
      throw this.#failure
    }
  }

  /**
   * Called after a commit, and not before one: on a full disk, the database would grow into the
   * space that was freed for the change. Never throws, since the commit is made.
   */
  foldIfLong(): void {
    try {
      const { log, checkpointed } = this.#pages()
      if (log - checkpointed >= foldedPages || log >= maxPages) this.#folding ??= this.#startFolding()
    } catch {
      // The next commit tries again.
    }
  }

  /** Called before a change. Resolves when the log may grow and the thread does not write. */
  async untilShort({ isDiskFull }: { isDiskFull: boolean }): Promise<void> {
    // Most pages are folded while changes go on.
    if (isDiskFull || this.#folder.isWriting || this.#pages().log >= maxPages) await this.#folding
  }

  #pages(): { log: number; checkpointed: number } {
    return this.#length.get() as { log: number; checkpointed: number }
  }

  /** When it fails, a later change tries again. */
  #startFolding(): Promise<void> {
    return this.#folder
      .fold()
      .catch(() => {})
      .finally(() => {
        this.#folding = undefined
      })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folding
    await this.#folder[Symbol.asyncDispose]()
    if (this.#fd !== undefined) closeSync(this.#fd)
  }
}
