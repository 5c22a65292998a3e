import { closeSync, constants, fstatSync, mkdirSync, openSync } from "node:fs"
import { readdir, rm, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setImmediate } from "node:timers/promises"
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
/** Files written in one turn of the event loop, so that requests wait less than a millisecond. */
const filesPerTurn = 32
const fileName = /^[0-9a-f]{32}\.usage$/

/**
 * The usage of runs over time and its marks, in one file per run, which outlives process and run. A
 * failure to write loses figures and harms no run.
 */
export class UsageStore {
  readonly #options: UsageStoreOptions
  /** The runs whose file this process has written, by key, with their last minute. */
  readonly #opened = new Map<string, SampledMinute | undefined>()
  /** People who got a file since their files were last counted. */
  readonly #grown = new Set<number>()
  #isFailing = false

  constructor(options: UsageStoreOptions) {
    this.#options = options
  }

  /** Stores a sample of each run. Never rejects. */
  async record(samples: readonly { run: RunOfFile; sample: UsageSample }[]): Promise<void> {
    const { directory, isLive } = this.#options
    if (directory === undefined) return
    for (const key of this.#opened.keys()) if (!isLive(key)) this.#opened.delete(key)
    for (const [n, { run, sample }] of samples.entries()) {
      if (n % filesPerTurn === filesPerTurn - 1) await setImmediate()
      this.#write(run, (fd) => this.#opened.set(run.key, writeSample(fd, sample, this.#opened.get(run.key))))
    }
    for (const userId of [...this.#grown]) {
      this.#grown.delete(userId)
      await this.#prunePerson(userId).catch((err: unknown) => this.#reportFailure(err))
    }
  }

  /** Stores a mark of this moment. Never throws. */
  mark(run: RunOfFile, kind: MarkKind, text: string): void {
    if (this.#options.directory !== undefined) this.#write(run, (fd) => appendMark(fd, { time: this.#options.clock.now(), kind, text }))
  }

  /** Resolves with nothing for a run without a file. The time counts for the reader. */
  async read(run: RunOfFile, range: UsageRange, readerId?: number): Promise<{ points: UsagePoint[]; marks: Mark[] }> {
    const path = this.#pathOf(run)
    return path === undefined ? { points: [], marks: [] } : readUsage(path, range, new Yielder(sharedScheduler, readerId))
  }

  /** Removes the files of deleted runs. */
  async remove(runs: readonly RunOfFile[]): Promise<void> {
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

  #write(run: RunOfFile, write: (fd: number) => unknown): void {
    try {
      const fd = this.#open(run)
      try {
        if (!this.#opened.has(run.key)) this.#handleFirst(fd, run)
        write(fd)
      } finally {
        closeSync(fd)
      }
      this.#isFailing = false
    } catch (error) {
      this.#reportFailure(error)
    }
  }

  #open(run: RunOfFile): number {
    const path = this.#pathOf(run) ?? ""
    const open = () => openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
    try {
      return open()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      return open()
    }
  }

  /** Another process wrote a file that is not new. */
  #handleFirst(fd: number, run: RunOfFile): void {
    const isNew = fstatSync(fd).size === 0
    this.#opened.set(run.key, undefined)
    if (isNew) this.#grown.add(run.userId)
    else
      appendMark(fd, {
        time: this.#options.clock.now(),
        kind: "restart",
        text: "Quayside was started again; it has no figures of the time between",
      })
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
