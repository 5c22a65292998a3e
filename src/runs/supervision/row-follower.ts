import type { Notice } from "#store"
import type { RunsContext } from "../context.ts"
import { publishStored } from "../lifecycle/transitions.ts"
import { WakeSignal } from "../wake-signal.ts"

/** Longest time between two comparisons of all rows, if notices arrive. */
const compareEveryMs = 30_000
const retryMs = 1_000
/** Rows that are read at once. */
const maxRead = 100

/** Keeps the cache equal to the database, whichever process writes. */
export class RowFollower {
  readonly #ctx: RunsContext
  readonly #signal = new WakeSignal()
  /** The lowest version that each changed run has, by ID. */
  readonly #changed = new Map<number, number>()
  #comparedAt = Number.NEGATIVE_INFINITY

  constructor(ctx: RunsContext) {
    this.#ctx = ctx
  }

  /** Follows notices until Quayside closes. Returns at once if the database sends none. */
  async run(): Promise<void> {
    const { store, clock, closed, logger } = this.#ctx
    using listening = store.notices?.on((notice) => this.#handle(notice))
    while (listening && !closed.aborted) {
      const isRead = await this.#readChanged().then(
        () => true,
        (err: unknown) => {
          if (!closed.aborted) logger.warn({ err }, "changes of runs were not read")
          return false
        },
      )
      if (!isRead) this.#signal.notify()
      if (isRead) await this.#signal.wait(clock, closed, compareEveryMs)
      else await clock.sleep(retryMs, closed).catch(() => {})
    }
  }

  #handle(notice: Notice): void {
    if (notice.kind === "gap") this.#comparedAt = Number.NEGATIVE_INFINITY
    else if (notice.kind === "run") this.#changed.set(notice.id, Math.max(notice.version, this.#changed.get(notice.id) ?? 0))
    else return
    this.#signal.notify()
  }

  async #readChanged(): Promise<void> {
    await this.compareIfDue()
    const { runCache } = this.#ctx
    const changed = [...this.#changed]
    await this.#read(changed.flatMap(([id, version]) => (runCache.isCurrent(id, version) ? [] : [id])))
    for (const [id, version] of changed) if (this.#changed.get(id) === version) this.#changed.delete(id)
  }

  async #read(ids: readonly number[]): Promise<void> {
    for (let from = 0; from < ids.length; from += maxRead) {
      const part = ids.slice(from, from + maxRead)
      const { runCache, store } = this.#ctx
      const known = part.flatMap((id) => runCache.row(id) ?? [])
      const unknown = part.filter((id) => !runCache.row(id))
      const read = await Promise.all([store.runs.reload(known), unknown.length > 0 ? store.runs.getMany(unknown) : []])
      const rows = new Map(read.flat().map((row) => [row.id, row]))
      for (const id of part) publishStored(this.#ctx, id, rows.get(id))
    }
  }

  /** Compares all rows if the last comparison was long ago. Notices make that rare. */
  async compareIfDue(): Promise<void> {
    const { clock, settings, store } = this.#ctx
    const now = clock.monotonic()
    const everyMs = store.notices?.isListening ? compareEveryMs : settings.observeEveryMs
    if (now - this.#comparedAt < everyMs) return
    this.#comparedAt = now
    await this.compare().catch((error: unknown) => {
      this.#comparedAt = Number.NEGATIVE_INFINITY
      throw error
    })
  }

  /** Compares all rows. */
  async compare(): Promise<void> {
    const { runCache, store } = this.#ctx
    const versions = await store.runs.liveVersions()
    const changed = [...versions].filter(([id, version]) => (runCache.row(id)?.version ?? 0) < version).map(([id]) => id)
    const endedIds = runCache.rows().flatMap(({ id }) => (versions.has(id) ? [] : [id]))
    await this.#read([...changed, ...endedIds])
  }
}
