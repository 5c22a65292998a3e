import { StatementSync } from "node:sqlite"

type Run = (...args: unknown[]) => unknown

/**
 * The statements that the store of this process runs while `work` does: what they are, in their order. What runs by itself in between (a clock's work) would stand
 * there too, so the shortest of several attempts is answered.
 */
export async function queriesOf(work: () => Promise<unknown>, attempts = 4): Promise<string[]> {
  let shortest: string[] | undefined
  for (let i = 0; i < attempts; i += 1) {
    const seen = await recorded(work)
    if (shortest === undefined || seen.length < shortest.length) shortest = seen
  }
  return shortest ?? []
}

async function recorded(work: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = []
  const prototype = StatementSync.prototype as unknown as Record<"all" | "get" | "run", Run>
  const before = { all: prototype.all, get: prototype.get, run: prototype.run }
  for (const name of ["all", "get", "run"] as const) {
    prototype[name] = function (this: StatementSync, ...args: unknown[]) {
      seen.push(this.sourceSQL)
      return before[name].apply(this, args)
    }
  }
  try {
    await work()
  } finally {
    Object.assign(prototype, before)
  }
  return seen
}
