import type { ContainerLogLine, LogOptions } from "../../engine.ts"

interface Rank {
  rank: number
  lines: AsyncIterable<ContainerLogLine>
}

/** The output of several ranks: by time, or as it arrives if it is followed. */
export async function* mergeRanks(ranks: readonly Rank[], { tail, follow = false }: LogOptions): AsyncIterable<ContainerLogLine> {
  if (follow) return yield* asTheyArrive(ranks)
  const all = await Promise.all(ranks.map(async ({ rank, lines }) => (await Array.fromAsync(lines)).map((line) => ({ ...line, rank }))))
  const sorted = all.flat().sort((a, b) => a.time - b.time)
  yield* tail === undefined ? sorted : sorted.slice(Math.max(0, sorted.length - tail))
}

async function* asTheyArrive(ranks: readonly Rank[]): AsyncIterable<ContainerLogLine> {
  const iterators = ranks.map(({ rank, lines }) => ({ rank, iterator: lines[Symbol.asyncIterator]() }))
  const next = (one: (typeof iterators)[number]) => one.iterator.next().then((result) => ({ one, result }))
  const pending = new Map(iterators.map((one) => [one, next(one)]))
  try {
    while (pending.size > 0) {
      const { one, result } = await Promise.race(pending.values())
      if (result.done) pending.delete(one)
      else {
        pending.set(one, next(one))
        yield { ...result.value, rank: one.rank }
      }
    }
  } finally {
    for (const { iterator } of iterators) void iterator.return?.()
  }
}
