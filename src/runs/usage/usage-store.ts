import { constants } from "node:fs"
import { type FileHandle, mkdir, open, readdir, rm, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { bounds } from "#contract"
import { type Clock, type Logger, sharedScheduler, Yielder } from "#kit"
import type { RunRow } from "#store"
import { appendMark, type Mark, type MarkKind } from "./marks.ts"
import { readUsage, type SampledMinute, type UsageRange, writeSample } from "./usage-file.ts"
import type { UsagePoint, UsageSample } from "./usage-sample.ts"

type RunOfFile = Pick<RunRow, "key" | "userId">

export interface UsageStoreOptions {
  /** Made when missing. Undefined: nothing is stored. */
  directory: string | undefined
  clock: Clock
  logger: Logger
  isLive(key: string): boolean
  /** Of a person's ended runs. Default: `bounds.storage`. */
  maxFiles?: number
  maxBytes?: number
}

const { keptUsageRuns, keptUsageBytes } = bounds.storage
/** The disk may be slower than samples come. */
const maxRecording = 2
/** How long a reader waits for writes. */
const writtenMs = 500
const fileName = /^[0-9a-f]{32}\.usage$/

/**
 * The usage of runs over time and its marks, in one file per run, which outlives process and run. A
 * failure to write loses figures and harms no run. Beside programs that write gigabytes a write may
 * take seconds: one after another waits in a thread of the pool, and nothing else does.
 */
export class UsageStore {
  readonly #options: UsageStoreOptions
  /** The runs whose file this process has written, by key, with their last minute. */
  readonly #opened = new Map<string, SampledMinute | undefined>()
  /** People who got a file since their files were last counted. */
  readonly #grown = new Set<number>()
  #isFailing = false
  #written: Promise<void> = Promise.resolve()
  /** Samples of all runs that are being written, or wait for that. */
  #recording = 0

  constructor(options: UsageStoreOptions) {
    this.#options = options
  }

  /** Stores a sample of each run, or none while earlier ones wait to be written. Never rejects. */
  async record(samples: readonly { run: RunOfFile; sample: UsageSample }[]): Promise<void> {
    const { directory, isLive, clock } = this.#options
    if (directory === undefined) return
    const now = clock.now()
    if (this.#recording >= maxRecording) return
    this.#recording += 1
    await this.#inOrder(async () => {
      // After the marks of their ends: the next mark would be one of a restart.
      for (const key of this.#opened.keys()) if (!isLive(key)) this.#opened.delete(key)
      for (const { run, sample } of samples) {
        const write = async (file: FileHandle) => void this.#opened.set(run.key, await writeSample(file, sample, this.#opened.get(run.key)))
        await this.#write(run, now, write)
      }
      for (const userId of [...this.#grown]) {
        this.#grown.delete(userId)
        await this.#prunePerson(userId).catch((err: unknown) => this.#reportFailure(err))
      }
    })
    this.#recording -= 1
  }

  /** Stores a mark of this moment, after what is being written. Never throws. */
  mark(run: RunOfFile, kind: MarkKind, text: string): void {
    if (this.#options.directory === undefined) return
    const time = this.#options.clock.now()
    void this.#inOrder(() => this.#write(run, time, (file) => appendMark(file, { time, kind, text })))
  }

  /** Resolves when everything is written. */
  async flush(): Promise<void> {
    await this.#written
  }

  /**
   * Resolves with nothing for a run without a file. Waits half a second at most for what is being
   * written. The time counts for the reader.
   */
  async read(run: RunOfFile, range: UsageRange, readerId?: number): Promise<{ points: UsagePoint[]; marks: Mark[] }> {
    const path = this.#pathOf(run)
    if (path === undefined) return { points: [], marks: [] }
    const waited = new AbortController()
    await Promise.race([this.#written, this.#options.clock.sleep(writtenMs, waited.signal).catch(() => {})])
    waited.abort()
    return readUsage(path, range, new Yielder(sharedScheduler, readerId))
  }

  /** Removes the files of deleted runs. */
  async remove(runs: readonly RunOfFile[]): Promise<void> {
    await this.#written
    for (const run of runs) {
      const path = this.#pathOf(run)
      if (path !== undefined) await rm(path, { force: true })
    }
  }

  /** Removes files last written before that time: a crash may have prevented `remove`. */
  async removeOld(before: number): Promise<void> {
    const { directory } = this.#options
    for (const name of directory === undefined ? [] : await namesIn(directory)) {
      if (!/^person-\d+$/.test(name)) continue
      for (const { path, mtimeMs } of await filesIn(join(directory ?? "", name))) if (mtimeMs < before) await rm(path, { force: true })
    }
  }

  /** The work never rejects. */
  #inOrder(work: () => Promise<void>): Promise<void> {
    this.#written = this.#written.then(work)
    return this.#written
  }

  async #write(run: RunOfFile, time: number, write: (file: FileHandle) => Promise<void>): Promise<void> {
    try {
      await using file = await this.#open(run)
      if (!this.#opened.has(run.key)) await this.#handleFirst(file, run, time)
      await write(file)
      this.#isFailing = false
    } catch (error) {
      this.#reportFailure(error)
    }
  }

  async #open(run: RunOfFile): Promise<FileHandle> {
    const path = this.#pathOf(run) ?? ""
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW
    try {
      return await open(path, flags, 0o600)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      return await open(path, flags, 0o600)
    }
  }

  /** Another process wrote a file that is not new. */
  async #handleFirst(file: FileHandle, run: RunOfFile, time: number): Promise<void> {
    const isNew = (await file.stat()).size === 0
    this.#opened.set(run.key, undefined)
    if (isNew) this.#grown.add(run.userId)
    else await appendMark(file, { time, kind: "restart", text: "Quayside was started again; it has no figures of the time between" })
  }

  /** Removes the oldest files of ended runs, so that one person's runs cannot fill the disk. */
  async #prunePerson(userId: number): Promise<void> {
    const { directory = "", isLive, maxFiles = keptUsageRuns.value, maxBytes = keptUsageBytes.value } = this.#options
    const files = (await filesIn(join(directory, `person-${userId}`))).filter(({ key }) => !isLive(key))
    let bytes = 0
    for (const [n, file] of files.sort((a, b) => b.mtimeMs - a.mtimeMs).entries()) {
      bytes += file.bytes
      if (n >= maxFiles || bytes > maxBytes) await rm(file.path, { force: true })
    }
  }

  #pathOf({ key, userId }: RunOfFile): string | undefined {
    if (!/^[0-9a-f]{32}$/.test(key)) throw new TypeError(`A run's key is wanted, got ${JSON.stringify(key)}`)
    const { directory } = this.#options
    return directory === undefined ? undefined : join(directory, `person-${userId}`, `${key}.usage`)
  }

  /** Once until a file can be written again. */
  #reportFailure(error: unknown): void {
    if (!this.#isFailing) this.#options.logger.warn({ err: error }, "the usage of runs was not stored")
    this.#isFailing = true
  }
}

async function filesIn(directory: string): Promise<{ key: string; path: string; bytes: number; mtimeMs: number }[]> {
  const names = (await namesIn(directory)).filter((name) => fileName.test(name))
  const files = []
  for (const name of names) {
    const path = join(directory, name)
    const found = await stat(path).catch(() => undefined)
    // A file has holes where nothing was written.
    if (found) files.push({ key: name.slice(0, 32), path, bytes: found.blocks * 512, mtimeMs: found.mtimeMs })
  }
  return files
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return []
    throw error
  })
}
