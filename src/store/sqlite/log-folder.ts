import { once } from "node:events"
import { DatabaseSync } from "node:sqlite"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"

/** An idle thread ends after this time, to release its memory. */
const idleMs = 30_000

/** Folds SQLite's log into the database in a thread, since that flushes both files. */
export class LogFolder implements AsyncDisposable {
  readonly #file: string
  /** 1 while the thread writes, for which it has the database's lock. */
  readonly #isWriting = new Int32Array(new SharedArrayBuffer(4))
  #thread: Worker | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(file: string) {
    this.#file = file
  }

  get isWriting(): boolean {
    return Atomics.load(this.#isWriting, 0) === 1
  }

  /** One at a time. On a full disk some of the log remains. */
  async fold(): Promise<void> {
    clearTimeout(this.#idle)
    this.#thread ??= this.#start()
    const thread = this.#thread
    thread.ref()
    thread.postMessage(undefined)
    await once(thread, "message")
    thread.unref()
    this.#idle = setTimeout(() => void this[Symbol.asyncDispose](), idleMs).unref()
  }

  #start(): Worker {
    const thread = new Worker(import.meta.filename, { workerData: { log: this.#file, isWriting: this.#isWriting }, execArgv: [] })
    return thread.on("error", () => {
      if (this.#thread === thread) this.#thread = undefined
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idle)
    const thread = this.#thread
    this.#thread = undefined
    await thread?.terminate()
  }
}

/** Runs in the thread. */
function serve(file: string, isWriting: Int32Array): void {
  const db = new DatabaseSync(file)
  parentPort?.on("message", () => {
    try {
      fold(db, isWriting)
    } catch {
      // The disk is full, for example.
    }
    Atomics.store(isWriting, 0, 0)
    parentPort?.postMessage(undefined)
  })
}

function fold(db: DatabaseSync, isWriting: Int32Array): void {
  const { log, checkpointed } = db.prepare("pragma wal_checkpoint(passive)").get() as { log: number; checkpointed: number }
  if (log !== checkpointed) return
  Atomics.store(isWriting, 0, 1)
  writeNothingNew(db)
}

/**
 * The first write to a folded log begins it again, and SQLite flushes the log's new head. It fails
 * while a change is under way.
 */
function writeNothingNew(db: DatabaseSync): void {
  const { user_version: version } = db.prepare("pragma user_version").get() as { user_version: number }
  db.exec(`pragma user_version = ${version}`)
}

if (!isMainThread && typeof workerData?.log === "string") serve(workerData.log, workerData.isWriting)
