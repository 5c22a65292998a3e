import type { ContainerLogLine, LogOptions } from "../../engine.ts"

interface Rank {
  rank: number
  lines: AsyncIterable<ContainerLogLine>
}

/** The output of several ranks: by time, or as it arrives if it is followed. */
export async function* mergeRankLogs(ranks: readonly Rank[], { tail, follow = false }: LogOptions): AsyncIterable<ContainerLogLine> {
  if (follow) return yield* asTheyArrive(ranks)
  if (tail === undefined) return yield* byTime(ranks)
  const last: ContainerLogLine[] = []
  for await (const line of byTime(ranks)) {
    last.push(line)
    if (last.length > 2 * tail) last.splice(0, last.length - tail)
  }
  yield* last.slice(Math.max(0, last.length - tail))
}

/** Holds one line of each rank: their whole output may be large. */
async function* byTime(ranks: readonly Rank[]): AsyncIterable<ContainerLogLine> {
  const iterators = ranks.map(({ rank, lines }) => ({ rank, iterator: lines[Symbol.asyncIterator]() }))
  try {
    const next = async ({ iterator }: (typeof iterators)[number]) => (await iterator.next()).value as ContainerLogLine | undefined
    const heads = await Promise.all(iterators.map(next))
    for (;;) {
      let first = -1
      for (const [i, head] of heads.entries()) if (head && !(Number(heads[first]?.time) <= head.time)) first = i
      const line = heads[first]
      const from = iterators[first]
      if (!line || !from) return
      yield { ...line, rank: from.rank }
      heads[first] = await next(from)
    }
  } finally {
    for (const { iterator } of iterators) void iterator.return?.()
  }
}

/**
 * Reads one line of each rank ahead. No line waits for those of other ranks, since each wait for
 * one that prints nothing would take memory until the end.
 */
async function* asTheyArrive(ranks: readonly Rank[]): AsyncIterable<ContainerLogLine> {
  const iterators = ranks.map(({ rank, lines }) => ({ rank, iterator: lines[Symbol.asyncIterator]() }))
  const arrived: (() => { one: (typeof iterators)[number]; result: IteratorResult<ContainerLogLine> })[] = []
  let wake = (): void => {}
  const add = (each: (typeof arrived)[number]) => {
    arrived.push(each)
    wake()
  }
  const read = (one: (typeof iterators)[number]) =>
    void one.iterator.next().then(
      (result) => add(() => ({ one, result })),
      (error: unknown) =>
        add(() => {
          throw error
        }),
    )
  try {
    for (const one of iterators) read(one)
    for (let left = iterators.length; left > 0; ) {
      const found = arrived.shift()?.()
      if (!found) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      if (found.result.done) left -= 1
      else {
        read(found.one)
        yield { ...found.result.value, rank: found.one.rank }
      }
    }
  } finally {
    for (const { iterator } of iterators) void iterator.return?.()
  }
}
