import { once } from "node:events"
import { closeSync, fdatasync, openSync } from "node:fs"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { promisify } from "node:util"
import { isMainThread, Worker, workerData } from "node:worker_threads"
import { Failure } from "#contract"

/** Folding begins when so many pages (12 MiB) are not yet in the database. */
const foldedPages = 3_072
/** In a log of this length (16 MiB), changes wait until all is folded, and SQLite reuses it. */
const maxPages = 4_096
/** The interval between two attempts to fold it on a full disk, in milliseconds. */
const retryMs = 1_000
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
  #folding: Promise<void> | undefined
  /** When it failed last. */
  #failedAt = Number.NEGATIVE_INFINITY
  #fd: number | undefined
  #failure: unknown

  constructor(writer: DatabaseSync, file: string, flush: FlushFile = flushInPool) {
    // A commit flushes nothing and folds nothing.
    writer.exec("pragma synchronous = normal; pragma wal_autocheckpoint = 0")
    this.#file = file
    this.#flushFile = flush
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
   * Called before a change. Folds a log that has become long. The change only waits for that if the
   * log would grow on, or if the change would begin a folded log again.
   */
  async foldIfLong(): Promise<void> {
    if (performance.now() - this.#failedAt < retryMs) return
    const { log, checkpointed } = this.#length.get() as { log: number; checkpointed: number }
    const isDue = log >= maxPages || (log > 0 && log === checkpointed)
    // Most pages were folded while changes went on.
    if (isDue) await this.#folding
    if (isDue || log - checkpointed >= foldedPages) this.#folding ??= this.#startFolding({ restarts: isDue })
    if (isDue) await this.#folding
  }

  /**
   * When it fails, as on a full disk, a later change tries again. The attempts of one change do
   * not: each would use the space that is released for the change.
   */
  #startFolding(options: { restarts: boolean }): Promise<void> {
    return foldInThread({ file: this.#file, ...options })
      .catch(() => {
        this.#failedAt = performance.now()
      })
      .finally(() => {
        this.#folding = undefined
      })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folding
    if (this.#fd !== undefined) closeSync(this.#fd)
  }
}

interface Fold {
  file: string
  /** Whether the log is begun again, for which no change may be under way. */
  restarts: boolean
}

async function foldInThread(what: Fold): Promise<void> {
  await once(new Worker(import.meta.filename, { workerData: { fold: what }, execArgv: [] }), "exit")
}

/** Runs in the thread. */
function fold({ file, restarts }: Fold): void {
  const db = new DatabaseSync(file)
  db.exec("pragma wal_checkpoint(passive)")
  if (restarts) writeNothingNew(db)
  db.close()
}

/** The first write to a folded log begins it again, and SQLite flushes the log's new head. */
function writeNothingNew(db: DatabaseSync): void {
  const { user_version: version } = db.prepare("pragma user_version").get() as { user_version: number }
  db.exec(`pragma user_version = ${version}`)
}

if (!isMainThread && workerData?.fold) fold(workerData.fold)
