import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { type Bound, boundsOf, mibText, toleratedBytes } from "./bounds-of.ts"
import type { StorageQuotas } from "./storage-quotas.ts"

interface Holder {
  run: RunRow
  bytes: number
}

/**
 * Deleted files that runs have open count for the person who started them. Beyond a limit, the run
 * that has most of them ends, if the person stores more than when they were last within it.
 */
export class DeletedLimits {
  readonly #ctx: Pick<RunsContext, "runCache">
  readonly #quotas: Pick<StorageQuotas, "quotaOf">
  readonly #count: (name: string) => Promise<void>
  readonly #end: (run: RunRow, msg: string) => Promise<void>
  /** Bytes of each person, deleted files included: within the limits, or the least since. */
  #stored: ReadonlyMap<string, number> = new Map()

  constructor(
    ctx: Pick<RunsContext, "runCache">,
    parts: {
      quotas: Pick<StorageQuotas, "quotaOf">
      /** Counts a person's files now. */
      count: (name: string) => Promise<void>
      end: (run: RunRow, msg: string) => Promise<void>
    },
  ) {
    this.#ctx = ctx
    this.#quotas = parts.quotas
    this.#count = parts.count
    this.#end = parts.end
  }

  /** `bytesOf`: of deleted files, by the run's key; infinite ones count on a full disk only. */
  async check(bytesOf: (key: string) => number): Promise<void> {
    const rows = this.#ctx.runCache.rows().filter(({ state }) => state !== "queued" && state !== "stopping")
    const people = Map.groupBy(rows, ({ userName }) => userName)
    const stored = new Map<string, number>()
    for (const [name, runs] of people) {
      const holders = runs.map((run) => ({ run, bytes: bytesOf(run.key) })).filter(({ bytes }) => Number.isFinite(bytes))
      stored.set(name, await this.#judge(name, holders))
    }
    this.#stored = stored
  }

  /** Resolves with what the person stored, or the least since they exceeded a limit. */
  async #judge(name: string, holders: readonly Holder[]): Promise<number> {
    const bytes = holders.reduce((sum, holder) => sum + holder.bytes, 0)
    let { all, exceeded } = await this.#look(name, bytes)
    const before = this.#stored.get(name)
    if (!exceeded || before === undefined) return all
    if (bytes < toleratedBytes || all - before < toleratedBytes) return Math.min(all, before)
    // The last count may still contain what was deleted meanwhile.
    await this.#count(name)
    ;({ all, exceeded } = await this.#look(name, bytes))
    const [most] = [...holders].sort((a, b) => b.bytes - a.bytes)
    if (!exceeded || !most || all - before < toleratedBytes) return Math.min(all, before)
    const { whose, limit, used } = exceeded
    const amounts = `${mibText(used + bytes)} are stored, ${mibText(bytes)} of them in deleted files that runs have open`
    await this.#end(most.run, `${whose} ${mibText(limit)} and ${amounts}; this run has most`)
    return all
  }

  async #look(name: string, bytes: number): Promise<{ all: number; exceeded: Bound | undefined }> {
    const quota = await this.#quotas.quotaOf(name)
    const exceeded = quota ? boundsOf(name, quota).find(({ limit, used }) => used + bytes > limit) : undefined
    return { all: (quota?.counted[name] ?? 0) + bytes, exceeded }
  }
}
