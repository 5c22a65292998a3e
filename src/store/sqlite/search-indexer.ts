import type { Clock, Logger } from "#kit"
import type { QueryRunner } from "../driver.ts"
import type { ChangeTransaction } from "../group-commit/change-transaction.ts"
import { query } from "../queries/query.ts"
import { type ResourceTable, resourceTables } from "../tables/index.ts"

/** Rows that are indexed in one transaction: some milliseconds, in which nobody else is served. */
const batchSize = 200
/** Until then searches look at new rows by themselves, so many changes share one transaction. */
const everyMs = 5_000
const pauseMs = 50

export interface SearchIndexerOptions {
  reads: QueryRunner
  change(work: (tx: ChangeTransaction) => Promise<void>): Promise<void>
  clock: Clock
  logger: Logger
}

/**
 * Puts the texts of new and changed rows into the full-text index, a moment after they were
 * written: to do it with each write would cost more than the write.
 */
export class SearchIndexer implements AsyncDisposable {
  readonly #options: SearchIndexerOptions
  readonly #ended = new AbortController()
  #running: Promise<void> | undefined

  constructor(options: SearchIndexerOptions) {
    this.#options = options
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Indexes one batch of what waits; resolves with whether more is waiting. */
  async indexBatch(): Promise<boolean> {
    let left = batchSize
    for (const table of resourceTables) left -= left > 0 ? await this.#indexTable(table, left) : 0
    return left <= 0
  }

  async #indexTable(table: ResourceTable, limit: number): Promise<number> {
    const { reads, change } = this.#options
    const idsOf = async (name: "changedTexts" | "newTexts", max: number) =>
      (await reads.all(query(name, table), { limit: max })).map(([id]) => id as number)
    const changed = await idsOf("changedTexts", limit)
    const made = await idsOf("newTexts", limit - changed.length)
    const ids = [...changed, ...made]
    if (ids.length === 0) return 0
    await change(async (tx) => {
      await tx.run(query("removeIndexed", table), { ids })
      await tx.run(query("addIndexed", table), { ids })
      await tx.run(query("removePending", table), { ids })
      const id = made.at(-1)
      if (id !== undefined) await tx.run(query("markIndexed", table), { id })
    })
    return ids.length
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options
    const { signal } = this.#ended
    for (let pause = everyMs; !signal.aborted; ) {
      await clock.sleep(pause, signal).catch(() => {})
      if (signal.aborted) return
      try {
        pause = (await this.indexBatch()) ? pauseMs : everyMs
      } catch (err) {
        // On a full disk, say: searches stay right without the index, and it is tried again.
        logger.debug({ err }, "Texts could not be indexed")
        pause = everyMs
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await this.#running
  }
}
