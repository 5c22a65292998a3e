import type { Clock, Logger } from "#kit"
import type { QueryRunner } from "../driver.ts"
import type { ChangeTransaction } from "../group-commit/change-transaction.ts"
import { query } from "../queries/query.ts"
import { type ResourceTable, resourceTables } from "../tables/index.ts"

/** Rows per transaction. */
const maxRows = 200
/**
 * Characters per transaction, of which a row may exceed it alone. Each takes about a microsecond,
 * and nobody is answered meanwhile.
 */
const maxCharacters = 4_000
/**
 * The delay before new rows are indexed, so that many share a transaction. Until then searches read
 * them directly.
 */
const everyMs = 5_000
/** The pause between two transactions, so that requests are answered in between. */
const pauseMs = 10

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
    for (const table of resourceTables) {
      const { changed, made, isAll } = await this.#nextRows(table)
      if (changed.length + made.length > 0) await this.#index(table, { changed, made })
      if (!isAll) return true
    }
    return false
  }

  /** Changed and new rows, as many as one transaction may index. */
  async #nextRows(table: ResourceTable): Promise<{ changed: number[]; made: number[]; isAll: boolean }> {
    const { reads } = this.#options
    const textsOf = async (name: "changedTexts" | "newTexts", limit: number) =>
      (await reads.all(query(name, table), { limit })) as [id: number, characters: number][]
    const changed = await textsOf("changedTexts", maxRows)
    const made = await textsOf("newTexts", maxRows - changed.length)
    let characters = 0
    const beyond = [...changed, ...made].findIndex(([, length], i) => {
      characters += length
      return i > 0 && characters > maxCharacters
    })
    const count = beyond < 0 ? maxRows : beyond
    const idsOf = (texts: readonly [number, number][]) => texts.map(([id]) => id)
    const isAll = beyond < 0 && changed.length + made.length < maxRows
    return { changed: idsOf(changed.slice(0, count)), made: idsOf(made.slice(0, Math.max(0, count - changed.length))), isAll }
  }

  async #index(table: ResourceTable, { changed, made }: { changed: number[]; made: number[] }): Promise<void> {
    const ids = [...changed, ...made]
    await this.#options.change(async (tx) => {
      await tx.run(query("removeIndexed", table), { ids })
      await tx.run(query("addIndexed", table), { ids })
      await tx.run(query("removePending", table), { ids })
      const id = made.at(-1)
      if (id !== undefined) await tx.run(query("markIndexed", table), { id })
    })
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
