/** Calls a function for every item, some at once. The first error ends the rest and is thrown. */
export async function inParallel<T>(items: readonly T[], maxConcurrent: number, call: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  let hasFailed = false
  const work = async () => {
    for (const item of rest) {
      if (hasFailed) return
      await call(item).catch((error: unknown) => {
        hasFailed = true
        throw error
      })
    }
  }
  await Promise.all(Array.from({ length: Math.min(maxConcurrent, items.length) }, work))
}
