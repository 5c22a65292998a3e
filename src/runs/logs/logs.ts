import { randomBytes } from "node:crypto"
import { createReadStream, existsSync } from "node:fs"
import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { bounds, Failure, isLive } from "#contract"
import { type ContainerLogLine, EngineError, type LogOptions } from "#engine"
import { waitForTurn } from "#http"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"

const maxLines = bounds.storage.keptLogLines.value
const maxCharacters = bounds.storage.keptLogCharacters.value
const maxCharactersOfPerson = bounds.storage.endingLogCharacters.value
const maxFilesPerPerson = bounds.storage.keptLogRuns.value
const maxBytesPerPerson = bounds.storage.keptLogBytes.value
const collectTimeoutMs = 1_000
const dayMs = 24 * 3_600_000

/**
 * A run's output: from the engine while the run is live, from storage afterwards. Rejects with a
 * `Failure` when the engine cannot be reached.
 */
export async function* readLogs(ctx: RunsContext, run: RunRow, options: LogOptions): AsyncIterable<ContainerLogLine> {
  const now = ctx.runCache.row(run.id) ?? run
  if (!isLive(now.state)) return yield* storedLogs(ctx, run, options)
  try {
    yield* ctx.engine.logs(run.key, options)
  } catch (error) {
    throw error instanceof EngineError ? new Failure(error.code, error.message, { status: 503, cause: error }) : error
  }
}

/** By person. Dozens of runs may be stopped at once. */
const collectors = new Map<number, Set<FinalLogs>>()

/**
 * Collects the last output of a run while it is being stopped. It is in memory until it is stored,
 * so the runs of one person share a maximum.
 */
export class FinalLogs {
  readonly #ctx: RunsContext
  readonly #key: string
  readonly #userId: number
  readonly #stop = new AbortController()
  readonly #lines: string[] = []
  #characters = 0
  #collecting: Promise<void> = Promise.resolve()

  constructor(ctx: RunsContext, { key, userId }: Pick<RunRow, "key" | "userId">) {
    this.#ctx = ctx
    this.#key = key
    this.#userId = userId
  }

  /** Starts to read the output, until `save` or `discard`. */
  start(): void {
    if (this.#ctx.settings.logsDir === undefined) return
    const own = collectors.get(this.#userId) ?? new Set()
    collectors.set(this.#userId, own.add(this))
    for (const each of own) each.#trim()
    this.#collecting = this.#collect()
  }

  /**
   * Called once the engine has removed the run: writes the collected output. Never rejects, since a
   * run must end without its output too.
   */
  async save(): Promise<void> {
    const { clock, logger } = this.#ctx
    const timeout = clock.sleep(collectTimeoutMs, this.#stop.signal).catch(() => {})
    await Promise.race([this.#collecting, timeout])
    this.#stop.abort()
    await this.#write().catch((error) => logger.warn({ err: error, key: this.#key }, "the output of a run was not stored"))
    this.#leave()
  }

  /** Called when the run still exists. */
  discard(): void {
    this.#stop.abort()
    this.#leave()
  }

  #leave(): void {
    const own = collectors.get(this.#userId)
    if (own?.delete(this) && own.size === 0) collectors.delete(this.#userId)
  }

  async #collect(): Promise<void> {
    try {
      const lines = this.#ctx.engine.logs(this.#key, { tail: maxLines, follow: true, signal: this.#stop.signal })
      for await (const line of lines) {
        const text = JSON.stringify(line)
        this.#add(text)
        // Dozens of one person's programs may print as fast as they can until they end.
        await waitForTurn(this.#userId, text, this)
      }
    } catch (error) {
      if (!this.#stop.signal.aborted)
        this.#ctx.logger.warn({ err: error, key: this.#key }, "the output of a run could not be read to its end")
    }
  }

  #add(line: string): void {
    this.#characters += line.length
    this.#lines.push(line)
    this.#trim()
  }

  #trim(): void {
    const most = Math.min(maxCharacters, maxCharactersOfPerson / (collectors.get(this.#userId)?.size ?? 1))
    while (this.#lines.length > maxLines || this.#characters > most) this.#characters -= this.#lines.shift()?.length ?? 0
  }

  async #write(): Promise<void> {
    const { logsDir } = this.#ctx.settings
    if (logsDir === undefined || this.#lines.length === 0) return
    const directory = directoryOf(logsDir, this.#userId)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const temporary = join(directory, `${randomBytes(8).toString("hex")}.new`)
    try {
      await writeFile(temporary, `${this.#lines.join("\n")}\n`, { mode: 0o600 })
      await rename(temporary, fileOf(directory, this.#key))
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
    await prunePerson(directory)
  }
}

/**
 * Removes a person's oldest output beyond the maximum, so that one person's runs cannot fill the
 * disk.
 */
async function prunePerson(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".jsonl"))
  const found = await Promise.all(
    names.map(async (name) => {
      const stats = await stat(join(directory, name)).catch(() => undefined)
      return stats && { path: join(directory, name), size: stats.size, mtimeMs: stats.mtimeMs }
    }),
  )
  const files = found.filter((file) => file !== undefined)
  let bytes = 0
  for (const [i, file] of files.sort((a, b) => b.mtimeMs - a.mtimeMs).entries()) {
    bytes += file.size
    if (i >= maxFilesPerPerson || bytes > maxBytesPerPerson) await rm(file.path, { force: true })
  }
}

async function* storedLogs(
  { settings }: RunsContext,
  { key, userId }: RunRow,
  { tail, since, rank, signal }: LogOptions,
): AsyncIterable<ContainerLogLine> {
  if (settings.logsDir === undefined) return
  const path = fileOf(directoryOf(settings.logsDir, userId), key)
  // Older versions stored output beside the directories of people.
  const file = existsSync(path) ? path : fileOf(settings.logsDir, key)
  const isWanted = (line: ContainerLogLine) => (since === undefined || line.time > since) && (rank === undefined || line.rank === rank)
  // Counted first and then read again: a slow reader must not hold all lines in memory.
  let toSkip = 0
  if (tail !== undefined) {
    for await (const line of linesOf(file, signal)) if (isWanted(line)) toSkip += 1
    toSkip = Math.max(0, toSkip - tail)
  }
  for await (const line of linesOf(file, signal)) {
    if (!isWanted(line)) continue
    if (toSkip > 0) toSkip -= 1
    else yield line
  }
}

/** Yields nothing when the file does not exist. */
async function* linesOf(file: string, signal: AbortSignal | undefined): AsyncIterable<ContainerLogLine> {
  try {
    const input = createReadStream(file, signal ? { signal } : {})
    for await (const text of createInterface({ input })) yield JSON.parse(text) as ContainerLogLine
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
  }
}

function directoryOf(logsDir: string, userId: number): string {
  return join(logsDir, `person-${userId}`)
}

function fileOf(logsDir: string, key: string): string {
  if (!/^[0-9a-f]{32}$/.test(key)) throw new TypeError(`A run's key is wanted, got ${JSON.stringify(key)}`)
  return join(logsDir, `${key}.jsonl`)
}

/** Removes the stored output of deleted runs. */
export async function removeLogs({ settings: { logsDir } }: RunsContext, runs: readonly Pick<RunRow, "key" | "userId">[]): Promise<void> {
  if (logsDir === undefined) return
  for (const { key, userId } of runs) await rm(fileOf(directoryOf(logsDir, userId), key), { force: true })
}

/** Removes output older than the setting, now and once a day, until Quayside closes. */
export async function pruneLogs(ctx: RunsContext): Promise<void> {
  const { clock, closed, logger, settings } = ctx
  const { logsDir } = settings
  while (logsDir !== undefined && !closed.aborted) {
    const now = clock.now()
    await pruneDirectory(logsDir, { before: now - settings.maxLogDays * dayMs, unfinishedBefore: now - dayMs }).catch((error) =>
      logger.warn({ err: error }, "old output was not removed"),
    )
    await clock.sleep(dayMs, closed).catch(() => {})
  }
}

async function pruneDirectory(logsDir: string, times: { before: number; unfinishedBefore: number }): Promise<void> {
  const names = await readdir(logsDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return []
    throw error
  })
  for (const name of names) {
    if (/^person-\d+$/.test(name)) await pruneDirectory(join(logsDir, name), times)
    if (!/^[0-9a-f]+\.(jsonl|new)$/.test(name)) continue
    const path = join(logsDir, name)
    // A file may go at any time, with its run's person.
    const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? { mtimeMs: Number.POSITIVE_INFINITY }
    if (mtimeMs < times.before || (name.endsWith(".new") && mtimeMs < times.unfinishedBefore)) await rm(path, { force: true })
  }
}
