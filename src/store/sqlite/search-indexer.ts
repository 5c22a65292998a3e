import type { Clock, Logger } from "#kit"
import type { QueryRunner } from "../driver.ts"
import type { ChangeTransaction } from "../group-commit/change-transaction.ts"
import { query } from "../queries/query.ts"
import { type ResourceTable, resourceTables } from "../tables/index.ts"

/** Rows per transaction: it blocks the process for some milliseconds. */
const batchSize = 200
/**
 * The delay before new rows are indexed, so that many share a transaction. Until then searches read
 * them directly.
 */
const everyMs = 5_000
const pauseMs = 50

export interface SearchIndexerOptions {
  reads: QueryRunner
  change(work: (tx: ChangeTransaction) => Promise<void>): Promise<void>
  clock: Clock
  logger: Logger
}

/**
 * Adds the texts of new and changed rows to the full-text index shortly after they were written.
 * With each write it would cost more than the write.
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

  /** Indexes one batch. Resolves with whether more rows are pending. */
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
    for (let nextMs = everyMs; !signal.aborted; ) {
      await clock.sleep(nextMs, signal).catch(() => {})
      if (signal.aborted) return
      try {
        nextMs = (await this.indexBatch()) ? pauseMs : everyMs
      } catch (err) {
        // For example on a full disk. Searches stay correct without the index, and the next attempt
        // follows.
        logger.debug({ err }, "Texts could not be indexed")
        nextMs = everyMs
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await this.#running
  }
}
